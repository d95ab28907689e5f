#include "ring.h"

#include <chrono>
#include <utility>

namespace hone {

Ring::Ring(int threads, int slots, int hops, PinHook pin, std::function<Prepare()> make) {
  for (int i = 0; i < slots; ++i) places_.push_back({std::make_unique<Slot>(hops, pin)});
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i, make] { work(i, make); });
}

void Ring::halt() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  work_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Ring::start(uint64_t seed, uint64_t epoch, const int64_t* seeds, const int64_t* offsets, const int64_t* ids,
                 int64_t batches) {
  stop();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Place& place : places_) {
    if (place.state == State::kHeld) throw Error("batches of the epoch before are still held; release them first");
  }
  for (int64_t b = 0; b < batches; ++b) {
    if (offsets[b] < 0 || offsets[b + 1] < offsets[b]) throw Error("the bounds of the batches do not rise");
  }
  seeds_.assign(seeds, seeds + offsets[batches]);
  offsets_.assign(offsets, offsets + batches + 1);
  ids_.assign(ids, ids + batches);
  seed_ = seed;
  epoch_ = epoch;
  error_.clear();
  begun_ = taken_ = 0;
  batches_ = batches;
  work_changed_.notify_all();
}

void Ring::stop() {
  std::unique_lock<std::mutex> lock(mutex_);
  batches_ = 0;
  ready_changed_.wait(lock, [this] { return busy_ == 0; });
  for (Place& place : places_) {
    if (place.state == State::kReady) place.state = State::kFree;
  }
  begun_ = taken_ = 0;
}

Outcome Ring::next(double timeout_s, int64_t* batch, int* slot) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!error_.empty()) return Outcome::kFailed;
  if (taken_ >= batches_) return Outcome::kEnd;
  const auto settled = [this] { return !error_.empty() || place_of(taken_).state >= State::kReady; };
  // A system clock that is set back makes the caller wait longer, no more: it asks again and again.
  const auto until = std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                                            std::chrono::duration<double>(timeout_s));
  if (!ready_changed_.wait_until(lock, until, settled)) return Outcome::kTimeout;
  if (!error_.empty()) return Outcome::kFailed;
  Place& place = place_of(taken_);
  if (place.state == State::kHeld) return Outcome::kAllHeld;
  place.state = State::kHeld;
  *batch = taken_++;
  *slot = static_cast<int>(&place - places_.data());
  return Outcome::kReady;
}

void Ring::release(int slot) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (places_[slot].state != State::kHeld) return;
    places_[slot].state = State::kFree;
  }
  work_changed_.notify_one();
}

std::string Ring::error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

bool Ring::can_begin() const { return begun_ < batches_ && place_of(begun_).state == State::kFree; }

void Ring::work(int worker, const std::function<Prepare()>& make) {
  const Prepare prepare = make();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    work_changed_.wait(lock, [this] { return closing_ || can_begin(); });
    if (closing_) return;
    attempt(worker, prepare, lock);
  }
}

// Takes the next batch and prepares it without the lock; holds the lock again when it returns.
void Ring::attempt(int worker, const Prepare& prepare, std::unique_lock<std::mutex>& lock) {
  const int64_t b = begun_++;
  Place& place = place_of(b);
  place.state = State::kBusy;
  place.worker = worker;
  ++busy_;
  const Request request{seed_, epoch_, static_cast<uint64_t>(ids_[b]), seeds_.data() + offsets_[b],
                        offsets_[b + 1] - offsets_[b]};
  if (can_begin()) work_changed_.notify_one();
  lock.unlock();
  std::string failure;
  try {
    prepare(request, *place.slot);
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "unknown failure";
  }
  lock.lock();
  --busy_;
  place.state = failure.empty() ? State::kReady : State::kFree;
  if (!failure.empty()) fail(failure);
  ready_changed_.notify_all();
}

void Ring::fail(const std::string& reason) {
  if (error_.empty()) error_ = reason;
  batches_ = 0;
}

}  // namespace hone
