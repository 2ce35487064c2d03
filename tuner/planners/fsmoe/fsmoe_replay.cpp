#include "tuner/planners/fsmoe/fsmoe_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace tuner {
namespace {

/// A queue of tasks on one stream: each starts when it is ready and the one before it has ended.
struct TaskQueue {
  double idle_from = 0;
  double run(double ready, double seconds) {
    return idle_from = std::max(ready, idle_from) + seconds;
  }
};

double replay_on(TaskQueue& inter, TaskQueue& intra, int r, const ChunkTimes& t, double gar_s) {
  if (r < 1) throw std::invalid_argument(fmt::format("replay: r = {}: expected 1 or more", r));
  TaskQueue compute;
  std::vector<double> gathered;
  for (int i = 0; i < r; ++i) gathered.push_back(intra.run(inter.run(0, t.a2a), t.ag));
  inter.run(0, gar_s);
  double end = 0;
  for (const double ready : gathered) {
    end = inter.run(intra.run(compute.run(ready, t.exp), t.rs), t.a2a);
  }
  return end;
}

}  // namespace

double replay_s(int r, const ChunkTimes& t, double gar_s) {
  TaskQueue inter, intra;
  return replay_on(inter, intra, r, t, gar_s);
}

double replay_on_one_stream_s(int r, const ChunkTimes& t, double gar_s) {
  TaskQueue one;
  return replay_on(one, one, r, t, gar_s);
}

}  // namespace tuner
