// Worker threads that prepare the batches of an epoch, each a whole batch at a time, into a ring of slots.
//
// Batch b goes into slot b modulo the number of slots, so that there is a bound on what is prepared ahead and the
// batches come out in their order whoever is fastest. Whoever has to wait sleeps on a condition variable.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "batch.h"

namespace hone {

enum class Outcome { kReady = 0, kEnd = 1, kTimeout = 2, kFailed = 3, kAllHeld = 4 };

// Prepares one batch; every worker has its own, with its own memory.
using Prepare = std::function<void(const Request&, Slot&)>;

class Ring {
 public:
  // `make` is called by each worker once, in its own thread, so that its memory is near it.
  Ring(int threads, int slots, int hops, PinHook pin, std::function<Prepare()> make);
  ~Ring() { halt(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Starts an epoch, whose batch b has the seeds offsets[b] .. offsets[b + 1] and draws as batch ids[b]. Copies what it
  // is given. An epoch that has not come to its end is stopped first. Throws Error while batches of it are held.
  void start(uint64_t seed, uint64_t epoch, const int64_t* seeds, const int64_t* offsets, const int64_t* ids,
             int64_t batches);
  // Waits for the workers to leave the epoch; batches that are held stay valid until they are released.
  void stop();

  // Ends the workers, after the batches that they are at; what is ready or held stays as it is.
  void halt();

  // The next batch, in order; the caller holds its slot until `release`. kFailed: `error()` says why, and the epoch is
  // over. kAllHeld: no batch can come before one is released.
  Outcome next(double timeout_s, int64_t* batch, int* slot);
  void release(int slot);

  const Slot& slot(int i) const { return *places_[i].slot; }
  int worker_of(int i) const { return places_[i].worker; }
  std::string error();

 private:
  enum class State { kFree, kBusy, kReady, kHeld };
  struct Place {
    std::unique_ptr<Slot> slot;
    State state = State::kFree;
    int worker = 0;
  };

  void work(int worker, const std::function<Prepare()>& make);
  void attempt(int worker, const Prepare& prepare, std::unique_lock<std::mutex>& lock);
  void fail(const std::string& reason);
  bool can_begin() const;
  Place& place_of(int64_t batch) { return places_[batch % static_cast<int64_t>(places_.size())]; }
  const Place& place_of(int64_t batch) const { return places_[batch % static_cast<int64_t>(places_.size())]; }

  std::mutex mutex_;
  std::condition_variable work_changed_;   // workers wait for a batch to begin
  std::condition_variable ready_changed_;  // callers wait for a batch to be ready, or for the workers to be idle
  std::vector<Place> places_;
  std::vector<std::thread> threads_;
  std::vector<int64_t> seeds_, offsets_, ids_;
  uint64_t seed_ = 0, epoch_ = 0;
  int64_t batches_ = 0;  // of this epoch; 0 when it was stopped
  int64_t begun_ = 0;    // batches that a worker has taken
  int64_t taken_ = 0;    // batches that `next` has given out
  int busy_ = 0;         // workers that are at a batch
  bool closing_ = false;
  std::string error_;
};

}  // namespace hone
