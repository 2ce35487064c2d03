#include "viewer/model/timeline_loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "db/load.h"
#include "db/timeline/lane_builder.h"

namespace viewer {

namespace {

// More than this read one file no faster.
constexpr unsigned kMostThreads = 4;

}  // namespace

struct TimelineLoader::Shared {
  Shared(const db::Connection& connection, const db::TimelineInfo& timeline)
      : path(connection.path()),
        info(timeline),
        ops(db::load_timeline_ops(connection, timeline.id)),
        edges(db::load_op_edges(connection, timeline.id)),
        groups(db::load_rank_groups(connection, timeline.id)),
        ranks(db::load_span_ranks(connection, timeline.id)),
        index(ops) {}

  void read();
  void read_rank(const db::Connection& connection, db::LaneBuilder& builder, std::size_t place);

  const std::string path;
  const db::TimelineInfo info;
  const std::vector<db::TimelineOp> ops;
  const std::vector<db::OpEdge> edges;
  const std::vector<db::RankGroup> groups;
  const std::vector<int> ranks;  // ascending
  db::OpIndex index;
  std::atomic<std::size_t> next_rank = 0;  // place in `ranks` of the next one to read
  std::atomic<bool> stop = false;

  std::mutex mutex;  // guards what follows
  std::condition_variable arrived;
  std::map<std::size_t, db::RankLanes> waiting;  // by place; those after a gap wait for it
  std::size_t delivered = 0;                     // ranks
  std::exception_ptr failure;

  std::vector<std::jthread> threads;  // last: they end before what they use
};

void TimelineLoader::Shared::read_rank(const db::Connection& connection, db::LaneBuilder& builder,
                                       std::size_t place) {
  const int rank = ranks[place];
  db::visit_spans(connection, info.id, rank, [&](const db::Span& span) {
    builder.add(span);
    return !stop.load(std::memory_order_relaxed);
  });
  if (stop) return;
  db::RankLanes lanes = builder.take(rank);
  const std::lock_guard lock(mutex);
  waiting.emplace(place, std::move(lanes));
  arrived.notify_all();
}

void TimelineLoader::Shared::read() {
  try {
    const db::Connection connection = db::open_reader(path);
    db::LaneBuilder builder(index);
    for (std::size_t place = next_rank++; place < ranks.size() && !stop; place = next_rank++) {
      read_rank(connection, builder, place);
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
    arrived.notify_all();
  }
}

TimelineLoader::TimelineLoader(const db::Connection& connection, const db::TimelineInfo& info)
    : shared_(std::make_unique<Shared>(connection, info)) {
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  const auto wanted =
      std::min<std::size_t>(std::min(processors, kMostThreads), shared_->ranks.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    shared_->threads.emplace_back([shared = shared_.get()] { shared->read(); });
  }
}

TimelineLoader::~TimelineLoader() { shared_->stop = true; }

Timeline TimelineLoader::begun() const {
  Timeline timeline = begin_timeline(shared_->info, shared_->ops);
  link_ops(timeline, shared_->edges, shared_->groups);
  return timeline;
}

bool TimelineLoader::deliver(Timeline& timeline) {
  std::vector<db::RankLanes> ready;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->failure) std::rethrow_exception(shared_->failure);
    for (auto next = shared_->waiting.find(shared_->delivered); next != shared_->waiting.end();
         next = shared_->waiting.find(shared_->delivered)) {
      ready.push_back(std::move(next->second));
      shared_->waiting.erase(next);
      ++shared_->delivered;
    }
  }
  append_unnamed(timeline, shared_->index.take_unnamed());
  for (db::RankLanes& rank : ready) append_rank(timeline, std::move(rank));
  const bool last = shared_->delivered == shared_->ranks.size() && !timeline.complete;
  if (last) finish_timeline(timeline);
  return last || !ready.empty();
}

void TimelineLoader::wait(double seconds) {
  std::unique_lock lock(shared_->mutex);
  shared_->arrived.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    return shared_->failure || shared_->waiting.contains(shared_->delivered) ||
           shared_->delivered == shared_->ranks.size();
  });
}

}  // namespace viewer
