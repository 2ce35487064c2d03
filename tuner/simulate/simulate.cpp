#include "tuner/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "db/console/progress.h"
#include "moe/program/start_rule.h"
#include "tuner/costs/call_buffers.h"
#include "tuner/simulate/event_queue.h"
#include "tuner/simulate/flows_under_way.h"

namespace tuner {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Queue {
  int next = 0;         ///< place in the stream's list of ops
  int running = -1;     ///< op, -1 when idle
  bool issued = false;  ///< `next` waits for its launch gap
  // Of a running computation:
  double work_left = 0;
  double rate = 0;
  double since = 0;
  int version = 0;
};

struct Rank {
  std::array<Queue, moe::kStreamCount> queues;
  /// Ops under way; of communication calls whose last participant has arrived, not ended here.
  std::array<int, kOccupations> busy{};
  int contended = -1;    ///< place in State::contended
  bool changed = false;  ///< occupations changed since rates were computed

  int& busy_with(Occupation occupation) { return busy[static_cast<std::size_t>(occupation)]; }
  bool on_processor() const {
    return busy[static_cast<std::size_t>(Occupation::computation)] > 0 ||
           busy[static_cast<std::size_t>(Occupation::copy)] > 0;
  }
  /// Beside one op that keeps it busy with `own`.
  Company company_of(Occupation own) const {
    Company company{};
    for (std::size_t x = 0; x < kOccupations; ++x) {
      company[x] = busy[x] > (x == static_cast<std::size_t>(own) ? 1 : 0);
    }
    return company;
  }
};

bool slows_communication(const Interference& interference) {
  for (const Occupation link : {Occupation::inter_node, Occupation::intra_node}) {
    const auto y = static_cast<std::size_t>(link);
    if (interference.beside_all[y].value_or(1) < 1) return true;
    for (const double speed : interference.speed[y]) {
      if (speed < 1) return true;
    }
  }
  return false;
}

}  // namespace

struct Simulation::State {
  const moe::Program& program;
  const moe::Groups& groups;
  const std::vector<OpCost>& costs;
  const CostModel& model;
  const Cluster& cluster;

  /// The facts that all ranks of one pipeline stage share.
  struct Stage {
    std::array<std::vector<int>, moe::kStreamCount> queues;
    /// [op]: how many ops of each stream must have ended.
    std::vector<moe::StreamProgress> after;
    std::vector<int> place;  ///< [op]: among the ops of the stage
    int ops = 0;
  };
  std::vector<Stage> stages;
  std::vector<Rank> ranks;
  std::vector<std::vector<int>> arrived;  ///< [op][call of the op]: its ranks that have arrived
  FlowsUnderWay flows;
  std::vector<int> changed_ranks;
  /// Ranks that wait for each other's processors, and how many of them compute or copy.
  struct Contended {
    SharedProcessors shared;
    int busy_ranks = 0;
  };
  std::vector<Contended> contended;
  EventQueue events;
  std::vector<std::vector<moe::OpSpan>> spans;
  double now = 0;
  double ended_ops = 0, all_ops = 0;   ///< of all ranks
  const bool communication_is_slowed;  ///< whether other work of the ranks slows it

  State(const moe::Program& program, const moe::Groups& groups, const std::vector<OpCost>& op_costs,
        const CostModel& model, const Cluster& cluster)
      : program(program),
        groups(groups),
        costs(op_costs),
        model(model),
        cluster(cluster),
        ranks(static_cast<std::size_t>(groups.ranks)),
        arrived(program.ops.size()),
        flows(program, groups, op_costs, cluster),
        events(model.gaps.queued_s <= 0),
        spans(static_cast<std::size_t>(groups.ranks)),
        communication_is_slowed(slows_communication(model.interference)) {
    for (auto& shared : contended_processors(cluster.shared_processors, groups.ranks)) {
      const auto place = static_cast<int>(contended.size());
      for (const int rank : shared.ranks) at(rank).contended = place;
      contended.push_back({std::move(shared)});
    }
    const auto waits = moe::waits_for(program);
    for (int stage = 0; stage < program.stages; ++stage) stages.push_back(stage_of(waits, stage));
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      arrived[op].resize(costs[op].calls.size());
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      spans[rank].resize(stage(static_cast<int>(rank)).ops, {-1, 0, 0});
      all_ops += stage(static_cast<int>(rank)).ops;
      for (std::size_t stream = 0; stream < moe::kStreamCount; ++stream) {
        issue(static_cast<int>(rank), stream);
      }
    }
  }

  Stage stage_of(const std::vector<std::vector<int>>& waits, int number) const {
    Stage result;
    result.after.resize(program.ops.size());
    result.place.resize(program.ops.size(), -1);
    std::vector<int> in_queue(program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (!moe::runs_in(program.ops[op], number)) continue;
      const auto stream = static_cast<std::size_t>(program.ops[op].stream);
      auto& queue = result.queues[stream];
      in_queue[op] = static_cast<int>(queue.size());
      queue.push_back(static_cast<int>(op));
      result.place[op] = result.ops++;
      for (const int earlier : waits[op]) {
        const auto other = static_cast<std::size_t>(program.ops[earlier].stream);
        if (!moe::runs_in(program.ops[earlier], number)) continue;
        int& after = result.after[op][other];
        after = std::max(after, in_queue[earlier] + 1);
      }
    }
    return result;
  }
  const Stage& stage(int rank) const { return stages[moe::stage_of(groups, rank)]; }

  const OpCost& cost(int op) const { return costs[op]; }
  Rank& at(int rank) { return ranks[rank]; }
  Queue& queue_of(int rank, int op) {
    return at(rank)
        .queues[static_cast<std::size_t>(program.ops[static_cast<std::size_t>(op)].stream)];
  }
  void touch(int rank) {
    if (at(rank).changed) return;
    at(rank).changed = true;
    changed_ranks.push_back(rank);
  }

  /// `change`: of how many ops keep the rank busy so.
  void count(int rank, Occupation occupation, int change) {
    const bool before = at(rank).on_processor();
    at(rank).busy_with(occupation) += change;
    touch(rank);
    const bool now_on = at(rank).on_processor();
    if (at(rank).contended < 0 || now_on == before) return;
    // The number of ranks with work for the processors decides the share of each.
    Contended& together = contended[at(rank).contended];
    together.busy_ranks += now_on ? 1 : -1;
    for (const int other : together.shared.ranks) {
      if (at(other).on_processor()) touch(other);
    }
  }
  double processor_share(const Rank& rank) const {
    if (rank.contended < 0) return 1;
    const Contended& together = contended[rank.contended];
    return tuner::processor_share(together.shared, together.busy_ranks);
  }

  /// True where all ops that the op waits for have ended.
  bool is_ready(int rank, int op) {
    const moe::StreamProgress& after = stage(rank).after[op];
    for (std::size_t stream = 0; stream < moe::kStreamCount; ++stream) {
      const Queue& queue = at(rank).queues[stream];
      if (queue.next - (queue.running >= 0 ? 1 : 0) < after[stream]) return false;
    }
    return true;
  }

  void issue(int rank, std::size_t stream) {
    Queue& queue = at(rank).queues[stream];
    const auto& ops = stage(rank).queues[stream];
    if (queue.issued || queue.running >= 0 || queue.next >= static_cast<int>(ops.size())) return;
    const int op = ops[queue.next];
    if (!is_ready(rank, op)) return;
    queue.issued = true;
    events.push(now + model.gaps.launch_s, op, EventKind::start, {rank, 0});
  }

  void start(int rank, int op) {
    Queue& queue = queue_of(rank, op);
    queue.issued = false;
    queue.running = op;
    ++queue.next;
    spans[rank][stage(rank).place[op]] = {op, now, 0};
    if (cost(op).activity == moe::Activity::communication) {
      const int index = cost(op).call_of[rank];
      const GroupCall& group = cost(op).calls[index];
      const bool is_last = ++arrived[op][index] == static_cast<int>(group.ranks.size());
      if (!is_last) {
        if (uses_buffers(cost(op), group)) {
          events.push(now + queued_s(op, group) + group.alpha_s, op, EventKind::message, {rank, 0});
        }
        return;
      }
      events.push(now + queued_s(op, group) + group.alpha_s, op, EventKind::transfer, {index, 0});
      for (const int member : group.ranks) count(member, group.link, 1);
      return;
    }
    count(rank, occupation_of(cost(op)), 1);
    queue.work_left = seconds_on(cost(op), rank);
    queue.rate = 0;
    queue.since = now;
  }

  /// How long the first messages of a call that begins now wait for what the cards of its nodes
  /// have been given to send.
  double queued_s(int op, const GroupCall& group) const {
    if (model.gaps.queued_s <= 0 || group.link != Occupation::inter_node) return 0;
    return std::min(model.gaps.queued_s, flows.cards_busy_s(now, group, program.ops[op].stream));
  }

  void communicated_by(const std::vector<CallMember>& members) {
    for (const auto& [op, call, member] : members) {
      const GroupCall& group = cost(op).calls[call];
      communicated(group.ranks[member], op, group.link);
    }
  }

  void communicated(int rank, int op, Occupation link) {
    count(rank, link, -1);
    finish(rank, op);
  }

  void finish(int rank, int op) {
    Queue& queue = queue_of(rank, op);
    queue.running = -1;
    moe::OpSpan& span = spans[rank][stage(rank).place[op]];
    span.duration_s = now - span.start_s;
    ended_ops += 1;
    for (std::size_t stream = 0; stream < moe::kStreamCount; ++stream) issue(rank, stream);
  }

  void computed(int rank, int op) {
    count(rank, occupation_of(cost(op)), -1);
    finish(rank, op);
  }

  /// New rates of the computations of a rank whose activities changed.
  void share_rank(int rank) {
    Rank& state = at(rank);
    state.changed = false;
    for (Queue& queue : state.queues) {
      if (queue.running < 0 || cost(queue.running).activity == moe::Activity::communication) {
        continue;
      }
      const OpCost& running = cost(queue.running);
      const Occupation own = occupation_of(running);
      const double rate =
          processor_share(state) * speed_beside(model.interference, own, state.company_of(own));
      if (rate == queue.rate) continue;
      queue.work_left -= queue.rate * (now - queue.since);
      queue.since = now;
      queue.rate = rate;
      events.push(now + std::max(queue.work_left, 0.0) / rate, queue.running, EventKind::computed,
                  {rank, ++queue.version});
    }
  }

  [[noreturn]] void never_ran(int rank, int place) const {
    const auto op = std::ranges::find(stage(rank).place, place) - stage(rank).place.begin();
    throw std::logic_error(
        fmt::format("simulate: op {} \"{}\" never ran on rank {}", op, program.ops[op].name, rank));
  }

  double next_event() const { return std::min(events.next_time(), flows.next_end()); }

  void advance(double time) {
    now = time;
    while (next_event() <= now) {
      if (flows.next_end() <= now) communicated_by(flows.end(now));
      while (events.next_time() <= now) {
        const Event& event = events.pop();
        for (const auto& [rank, version] : event.ranks) {
          switch (event.kind) {
            case EventKind::start:
              start(rank, event.op);
              break;
            case EventKind::message:
              flows.send(now, event.op, cost(event.op).call_of[rank], rank);
              break;
            case EventKind::transfer:
              communicated_by(flows.begin(now, event.op, rank));
              break;
            case EventKind::computed:
              // An end that was computed before the rate changed is out of date.
              if (queue_of(rank, event.op).version == version) computed(rank, event.op);
              break;
          }
        }
      }
    }
    if (!std::ranges::is_sorted(changed_ranks)) std::ranges::sort(changed_ranks);
    if (flows.have_changed() || (communication_is_slowed && !changed_ranks.empty())) {
      flows.share_links(now, [this](int rank, Occupation link) {
        return speed_beside(model.interference, link, at(rank).company_of(link));
      });
    }
    for (int rank : changed_ranks) share_rank(rank);
    changed_ranks.clear();
  }
};

Simulation::Simulation(const moe::Program& program, const moe::Groups& groups,
                       const std::vector<OpCost>& costs, const CostModel& model,
                       const Cluster& cluster)
    : state_(std::make_unique<State>(program, groups, costs, model, cluster)) {}
Simulation::~Simulation() = default;

double Simulation::share_done() const { return state_->ended_ops / state_->all_ops; }
double Simulation::next_event() const { return state_->next_event(); }
void Simulation::advance(double time) { state_->advance(time); }

moe::Timeline Simulation::timeline() {
  moe::Timeline timeline;
  timeline.ranks = std::move(state_->spans);
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    for (std::size_t place = 0; place < timeline.ranks[rank].size(); ++place) {
      const moe::OpSpan& span = timeline.ranks[rank][place];
      if (span.op < 0) state_->never_ran(static_cast<int>(rank), static_cast<int>(place));
      timeline.duration_s = std::max(timeline.duration_s, span.start_s + span.duration_s);
    }
  }
  return timeline;
}

moe::Timeline simulate(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& model,
                       const Cluster& cluster) {
  return simulate(program, program_costs(program, groups, routing, model, cluster), model, cluster);
}

moe::Timeline simulate(const moe::Program& program, const ProgramCosts& costs,
                       const CostModel& model, const Cluster& cluster) {
  moe::Timeline timeline = run_simulation(program, costs.classes.groups, costs.ops, model, cluster);
  if (timeline.ranks.size() < costs.classes.of_rank.size()) timeline.like = costs.classes.of_rank;
  return timeline;
}

moe::Timeline run_simulation(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<OpCost>& costs, const CostModel& model,
                             const Cluster& cluster) {
  Simulation simulation(program, groups, costs, model, cluster);
  db::Progress progress(fmt::format("simulation of {} ranks", groups.ranks), 1);
  for (double time = simulation.next_event(); time < kNever; time = simulation.next_event()) {
    simulation.advance(time);
    progress.at(simulation.share_done());
  }
  return simulation.timeline();
}

}  // namespace tuner
