// The kinds of the design study by number; hone.gnn.sampling.native names them in the same order. Without HONE_STUDY
// only the kinds that are used are compiled.
#pragma once

#include <memory>
#include <vector>

#include "maps.h"
#include "prepare.h"
#include "ring.h"
#ifdef HONE_STUDY
#include "swiss_map.h"
#endif

namespace hone {

struct Design {
  Graph graph;
  std::vector<int64_t> fanouts;
  int64_t map = 0;
  int64_t chooser = 0;
  Tuning tuning;
  DrawKernel draw = nullptr;  // absent: the sampler's own
};

template <class Map, class Chooser>
Prepare make_preparer(const Design& design) {
  auto made = std::make_shared<Preparer<Map, Chooser>>(design.graph, design.fanouts, design.tuning, design.draw);
  return [made](const Request& request, Slot& slot) { made->prepare(request, slot); };
}

template <class Map>
Prepare with_map(const Design& design) {
#ifdef HONE_STUDY
  if (design.chooser == 1) return make_preparer<Map, ArrayChooser>(design);
  if (design.chooser == 2) return make_preparer<Map, SetChooser>(design);
#endif
  if (design.chooser == 0) return make_preparer<Map, BitsChooser>(design);
  throw Error("this kind of bookkeeping is not compiled");
}

inline Prepare prepare_by(const Design& design) {
#ifdef HONE_STUDY
  if (design.map == 2) return with_map<ClearedMap>(design);
  if (design.map == 3) return with_map<SwissMap>(design);
  if (design.map == 4) return with_map<StlMap>(design);
#endif
  if (design.map == 0) return with_map<TaggedMap>(design);
  if (design.map == 1) return with_map<DirectMap>(design);
  throw Error("this kind of map is not compiled");
}

}  // namespace hone
