#include "tests/moe/passes/random_draw.h"

#include <algorithm>
#include <optional>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_json.h"
#include "tests/moe/model/random_model.h"
#include "tests/moe/rows/random_placement.h"
#include "tests/moe/train/training_case.h"

namespace moe::test {
namespace {

constexpr int kDrawnRanks[] = {1, 2, 3, 4, 6, 7, 8};

int random_divisor(std::mt19937& random, int of, std::initializer_list<std::int64_t> and_of) {
  std::vector<int> divisors;
  for (int n = 1; n <= of; ++n) {
    if (of % n == 0 &&
        std::all_of(and_of.begin(), and_of.end(), [&](std::int64_t all) { return all % n == 0; })) {
      divisors.push_back(n);
    }
  }
  return divisors[random() % divisors.size()];
}

Layout random_layout(std::mt19937& random, const Model& model) {
  int ranks = 0, stages = 1;
  while (ranks == 0 || model.global_batch / model.micro_batches % ranks != 0) {
    ranks = kDrawnRanks[random() % std::size(kDrawnRanks)];
    stages = 1 + static_cast<int>(random() % static_cast<unsigned>(model.blocks));
    if (ranks % stages != 0) stages = 1;
    ranks /= stages;
  }
  const int shards = random_divisor(random, ranks, {expert_hidden(model)});
  const int experts = random_divisor(random, ranks / shards, {});
  const int tensor = random_divisor(
      random, ranks,
      {key_value_heads(model), model.d_hidden, model.shared_experts * expert_hidden(model),
       model.shard_vocabulary ? model.vocabulary : 0});
  return {ranks / shards / experts, experts, shards, tensor, stages};
}

/// A stage for every block: the stages in turn or, where `may_be_v`, in a V, with one block each or
/// more.
PlaceBlocks random_stages(std::mt19937& random, int blocks, int stages, bool may_be_v) {
  const bool v = may_be_v && blocks >= 2 * stages - 1 && random() % 2;
  const int rounds = 1 + static_cast<int>(random() % static_cast<unsigned>(blocks / stages));
  const int chunks = v ? 2 * stages - 1 : rounds * stages;
  std::vector<int> counts(static_cast<std::size_t>(chunks), 1);
  for (int more = blocks - chunks; more > 0; --more) ++counts[random() % counts.size()];
  PlaceBlocks placing;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    placing.stages.insert(placing.stages.end(),
                          static_cast<std::size_t>(counts[static_cast<std::size_t>(chunk)]),
                          v ? std::min(chunk, chunks - 1 - chunk) : chunk % stages);
  }
  return placing;
}

bool is_v(const PlaceBlocks& placing) { return placing.stages.back() == 0; }

/// Nodes that have as many ranks of an expert group as each other: blocks of ranks, or in turn.
std::vector<int> random_nodes(std::mt19937& random, const Layout& layout) {
  const int nodes = random_divisor(random, layout.expert, {layout.expert});
  const int on_node = layout.expert / nodes;
  const bool in_turn = random() % 2 == 0;
  std::vector<int> node_of;
  for (int rank = 0; rank < rank_count(layout); ++rank) {
    const int place = rank / layout.expert_sharded;  // of data and expert
    node_of.push_back(in_turn ? place % nodes : place / on_node);
  }
  return node_of;
}

Exchange random_exchange(std::mt19937& random, int block, Phase phase, const Layout& layout) {
  Exchange exchange{block, phase, {}, static_cast<Route>(random() % 4), 0};
  if (random() % 2) exchange.direction = static_cast<Direction>(random() % 2);
  if (exchange.route == Route::pairwise) {
    exchange.ranks_per_group = random_divisor(random, layout.expert, {layout.expert});
  }
  return exchange;
}

OrderMicroBatches random_order(std::mt19937& random, const Layout& layout, int micro_batches) {
  std::vector<MicroBatchOrder> orders{MicroBatchOrder::gpipe, MicroBatchOrder::one_f_one_b,
                                      MicroBatchOrder::zero_bubble};
  if (layout.pipeline == 1) {
    orders.insert(orders.end(), {MicroBatchOrder::interleaved, MicroBatchOrder::in_groups});
  }
  OrderMicroBatches ordering{orders[random() % orders.size()]};
  if (ordering.order == MicroBatchOrder::interleaved) return ordering;
  if (ordering.order == MicroBatchOrder::in_groups) {
    ordering.group_size = static_cast<int>(random() % static_cast<unsigned>(micro_batches + 1));
    return ordering;
  }
  if (ordering.order == MicroBatchOrder::zero_bubble) {
    ordering.in_flight = static_cast<int>(random() % 5);
  }
  if (random() % 2) {
    ordering.pass_on_time = static_cast<std::int64_t>(random() % 3);
    for (int stage = 0; stage < layout.pipeline; ++stage) {
      const auto time = [&] { return static_cast<std::int64_t>(random() % 9); };
      const std::int64_t forward = time(), backward = time();
      ordering.times.push_back({forward, backward, time()});
    }
  }
  return ordering;
}

Schedule random_schedule(std::mt19937& random, const Model& model, const Layout& layout) {
  Schedule schedule{"random", {}};
  for (int block = 0; block < model.blocks; ++block) {
    if (has_experts(model, block)) {
      const int experts = static_cast<int>(model.experts);
      ExpertHomes homes;
      if (layout.expert > 1 && random() % 3 == 0) {
        homes = random_homes(random, experts, layout.expert);
        schedule.decisions.push_back(PlaceExperts{block, homes});
      }
      if (layout.expert > 1 && random() % 3 == 0) {
        ExpertPlacement placement = random_placement(random, experts, layout.expert, homes);
        if (model.exchange == ExchangedRows::padded &&
            placement.rows_of_others == RowsOfOthers::balanced) {
          placement.rows_of_others = RowsOfOthers::spread;
        }
        if (model.exchange != ExchangedRows::padded && random() % 2 == 0) {
          placement.replicas.clear();
          placement.rows_of_others = RowsOfOthers::balanced;
          const auto drawn = random();
          const auto rule = static_cast<LateRule>(drawn % 3);
          const int slots = 1 + static_cast<int>(random() % 3);
          placement.late = {rule, std::min(slots, experts - experts / layout.expert), 1.1, 1};
          if (slots == 3) placement.late.domain = LateDomain::node;
          placement.late.slots_of = static_cast<SlotsOf>(drawn / 3 % 2);
        } else if (placement.rows_of_others == RowsOfOthers::balanced) {
          placement.balanced_by = static_cast<BalancedBy>(placement.replicas.size() % 2);
        }
        schedule.decisions.push_back(ReplicateExperts{block, placement});
      }
      const int ranks_per_group =
          random() % 3 == 0 ? random_divisor(random, layout.expert, {layout.expert}) : 0;
      for (const Phase phase : {Phase::forward, Phase::backward}) {
        if (random() % 2 == 0) {
          schedule.decisions.push_back(random_exchange(random, block, phase, layout));
        }
        if (random() % 4 != 0) {
          PipelineSplit split{block, phase, 1 + static_cast<int>(random() % 5), ranks_per_group};
          if (ranks_per_group > 0 && random() % 2) split.chunks = layout.expert / ranks_per_group;
          schedule.decisions.push_back(split);
        }
        // In float a value may be as near to where rounding steps as sums in another order are
        // apart.
        if (model.dtype == DType::f64 && random() % 4 == 0) {
          schedule.decisions.push_back(
              CompressExchange{block, phase, random() % 2 ? WireFormat::bf16 : WireFormat::int8});
        }
      }
    }
  }
  const bool shards = stage_ranks(layout) > 1 && random() % 3 == 0;
  if (shards) schedule.decisions.push_back(ShardOptimizer{});
  for (int block = -1; block < model.blocks && stage_ranks(layout) > 1; ++block) {
    if (!shards && random() % 3 == 0) {
      SliceAllReduce slicing{block, 1 + static_cast<int>(random() % 2)};
      if (slicing.slices == 2 && random() % 2) slicing.shares = {1, 3};
      // With a sharded vocabulary, all ranks may have but one row of gradients outside the blocks.
      if (model.shard_vocabulary && block < 0) slicing = {block, 1};
      schedule.decisions.push_back(slicing);
    }
  }
  for (const char* kind :
       {"all_to_all", "all_reduce", "gather_rows", "scatter_rows", "all_gather", "reduce_scatter",
        "pass_on", "exchange_in_node", "exchange_across_nodes", "exchange_step", "send_experts",
        "return_gradients", "reduce_shares", "gather_shares"}) {
    if (random() % 3 != 0) {
      schedule.decisions.push_back(
          StreamAssignment{kind, random() % 2 ? Stream::inter_node : Stream::intra_node});
    }
  }
  if (model.head == Head::tied && layout.pipeline > 1 && random() % 2) {
    schedule.decisions.push_back(StreamAssignment{"reduce_tied", Stream::inter_node});
  }
  std::optional<PlaceBlocks> placing;
  if (layout.pipeline > 1 && random() % 2) {
    placing = random_stages(random, model.blocks, layout.pipeline, model.head == Head::untied);
    schedule.decisions.push_back(*placing);
  }
  if (model.micro_batches < 2 || random() % 3 == 0) return schedule;
  const int chunks = placing ? chunks_of_blocks(placing->stages).back() + 1 : layout.pipeline;
  if (placing && is_v(*placing)) {
    OrderMicroBatches ordering = random_order(random, layout, model.micro_batches);
    ordering.order = MicroBatchOrder::zero_bubble;
    schedule.decisions.push_back(ordering);
    return schedule;
  }
  const bool divides = layout.pipeline > 1 && model.micro_batches % layout.pipeline == 0;
  if (chunks == layout.pipeline && !(divides && random() % 4 == 0)) {
    schedule.decisions.push_back(random_order(random, layout, model.micro_batches));
  } else if (divides) {
    schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::interleaved_stages});
  }
  return schedule;
}

/// Ranks of tp that share sequences have fewer together than they are, where that divides.
void share_sequences(Draw& draw) {
  if (draw.model.batch_per == BatchPer::rank) return;
  Model shared = draw.model;
  shared.global_batch /= draw.layout.tensor;
  if (!layout_refusal(shared, draw.layout)) draw.model = shared;
}

/// Places a few gradients after exchanges, and a few all-reduces during backward, as far as that is
/// legal.
void draw_placements(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  const auto place = [&](const Decision& placing) {
    Schedule more = draw.schedule;
    more.decisions.push_back(placing);
    if (is_legal(program, more)) draw.schedule = std::move(more);
  };
  const auto block = [&](int from) {
    return from + static_cast<int>(random() % static_cast<unsigned>(draw.model.blocks - from));
  };
  for (int i = 0; i < 4 && random() % 3 != 0; ++i) {
    const Parameter& parameter = program.parameters[random() % program.parameters.size()];
    place(PlaceWeightGradient{program.tensors[static_cast<std::size_t>(parameter.value)].name,
                              block(0), random() % 2 ? Direction::dispatch : Direction::combine,
                              static_cast<int>(random() % 3)});
  }
  for (const ReplicateExperts& replicated : decisions_of<ReplicateExperts>(draw.schedule)) {
    for (const Transfer transfer : {Transfer::send, Transfer::give_back}) {
      if (random() % 3 == 0) continue;
      HoistTransfer hoisting{replicated.layer, transfer, {}};
      for (int i = 0; i < 1 + static_cast<int>(random() % 3); ++i) {
        TransferSlice& slice = hoisting.slices.emplace_back();
        slice.share = 1 + static_cast<int>(random() % 3);
        if (random() % 4 == 0) continue;
        slice.after = static_cast<ExchangePlace>(random() % 3);
        slice.at = std::max(0, replicated.layer - static_cast<int>(random() % 2));
      }
      place(hoisting);
    }
  }
  for (const char* copies : {"offload_rows", "fetch_rows"}) {
    if (random() % 3 == 0) place(StreamAssignment{copies, Stream::compute});
  }
  for (int i = 0; i < 4 && random() % 3 != 0; ++i) {
    place(PlaceAllReduce{block(-1), static_cast<int>(random() % 2),
                         static_cast<ExchangePlace>(random() % 3), block(0)});
  }
}

Schedule without_splits_of(int block, Schedule schedule) {
  std::erase_if(schedule.decisions, [&](const Decision& decision) {
    const auto* split = std::get_if<PipelineSplit>(&decision);
    return split != nullptr && split->layer == block;
  });
  return schedule;
}

/// Ranges of layers that can be cut along the batch, instead of their splits along the routed rows.
void draw_partitions(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  for (int block = 0; block < draw.model.blocks; ++block) {
    if (!has_experts(draw.model, block) || random() % 2 == 0) continue;
    Schedule more = without_splits_of(block, draw.schedule);
    // Ops before a gate that needs the whole batch cannot be cut.
    const unsigned most_before = random() % 3 == 0 ? 1 : 12;
    PartitionRange range{block, 2 + static_cast<int>(random() % 3),
                         static_cast<int>(random() % most_before), static_cast<int>(random() % 12)};
    for (; range.ops_before >= 0; --range.ops_before, range.ops_after /= 2) {
      Schedule tried = more;
      tried.decisions.push_back(range);
      if (!is_legal(program, tried)) continue;
      draw.schedule = std::move(tried);
      break;
    }
  }
}

/// Buffers shared among the chunks of layers that are cut alike in both phases, or not at all; what
/// some models and layouts do not allow is left out.
void draw_shared_buffers(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  for (int block = 0; block < draw.model.blocks; ++block) {
    if (!has_experts(draw.model, block) || random() % 2 == 0) continue;
    Schedule more = without_splits_of(block, draw.schedule);
    const int chunks = 1 + static_cast<int>(random() % 5);
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      more.decisions.push_back(PipelineSplit{block, phase, chunks});
    }
    more.decisions.push_back(RestoreActivation{block, static_cast<RestoreDispatched>(random() % 3),
                                               static_cast<RestoreHidden>(random() % 3),
                                               1 + static_cast<int>(random() % 2)});
    if (is_legal(program, more)) draw.schedule = std::move(more);
  }
}

/// Blocks whose dense activations, or all, are restored in backward, where there are any.
void draw_restored_blocks(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  for (int block = 0; block < draw.model.blocks; ++block) {
    if (random() % 3 != 0) continue;
    Schedule more = draw.schedule;
    const auto dense = static_cast<RestoreDense>(random() % 2);
    const auto communication = static_cast<RestoreCommunication>(random() % 2);
    more.decisions.push_back(RestoreBlock{block, dense, communication});
    if (is_legal(program, more)) draw.schedule = std::move(more);
  }
}

/// Draws a later schedule with other homes. Replicas are removed from layers where a holder would
/// be the home.
void draw_homes_to_come(std::mt19937& random, Draw& draw) {
  if (draw.layout.expert == 1 || random() % 2 == 0) return;
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  Schedule later = draw.schedule;
  for (int block = 0; block < draw.model.blocks; ++block) {
    if (!has_experts(draw.model, block)) continue;
    const auto of_block = [&](const Decision& decision, bool with_replicas) {
      const auto is = [&]<class D>(const D* one) { return one != nullptr && one->layer == block; };
      return is(std::get_if<PlaceExperts>(&decision)) ||
             (with_replicas && (is(std::get_if<ReplicateExperts>(&decision)) ||
                                is(std::get_if<HoistTransfer>(&decision))));
    };
    const PlaceExperts homes{
        block, random_homes(random, static_cast<int>(draw.model.experts), draw.layout.expert)};
    const bool in_order = random() % 3 == 0;
    for (const bool with_replicas : {false, true}) {
      Schedule tried = later;
      std::erase_if(tried.decisions,
                    [&](const Decision& decision) { return of_block(decision, with_replicas); });
      if (!in_order) tried.decisions.push_back(homes);
      try {
        later = test::with_streams_of(program, std::move(tried));
        break;
      } catch (const Refusal&) {
      }
    }
  }
  draw.later = std::move(later);
}

/// A later schedule with other stages for the blocks, as far as that is legal.
void draw_stages_to_come(std::mt19937& random, Draw& draw) {
  if (draw.layout.pipeline == 1 || random() % 3 != 0) return;
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  Schedule later = draw.later ? *draw.later : draw.schedule;
  std::erase_if(later.decisions, [](const Decision& decision) {
    return std::holds_alternative<PlaceBlocks>(decision);
  });
  if (random() % 2) {
    later.decisions.push_back(random_stages(random, draw.model.blocks, draw.layout.pipeline,
                                            draw.model.head == Head::untied));
  }
  try {
    draw.later = test::with_streams_of(program, std::move(later));
  } catch (const Refusal&) {
  }
}

/// A later schedule that shares the optimizer's states out where the first one does not, or the
/// other way, as far as that is legal.
void draw_sharding_to_come(std::mt19937& random, Draw& draw) {
  if (stage_ranks(draw.layout) == 1 || random() % 3 != 0) return;
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  Schedule later = draw.later ? *draw.later : draw.schedule;
  if (std::erase_if(later.decisions, [](const Decision& decision) {
        return std::holds_alternative<ShardOptimizer>(decision);
      }) == 0) {
    later.decisions.push_back(ShardOptimizer{});
  }
  try {
    draw.later = test::with_streams_of(program, std::move(later));
  } catch (const Refusal&) {
  }
}

}  // namespace

std::string describe(const Draw& draw) {
  std::string nodes;
  for (const int node : draw.node_of) nodes += ' ' + std::to_string(node);
  return to_json(draw.model) + "\n" + to_json(draw.schedule) +
         (draw.later ? "\nlater " + to_json(*draw.later) : "") + "\nlayout " +
         to_text(draw.layout) + " on nodes" + nodes;
}

void keep_streams_there(Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  draw.schedule = test::with_streams_of(program, std::move(draw.schedule));
  if (draw.later) draw.later = test::with_streams_of(program, std::move(*draw.later));
}

Draw random_draw(std::mt19937& random) {
  Draw draw;
  draw.model = random_model(random);
  draw.layout = random_layout(random, draw.model);
  share_sequences(draw);
  draw.node_of = random_nodes(random, draw.layout);
  draw.schedule = random_schedule(random, draw.model, draw.layout);
  keep_streams_there(draw);
  draw_partitions(random, draw);
  draw_shared_buffers(random, draw);
  draw_restored_blocks(random, draw);
  draw_placements(random, draw);
  draw_homes_to_come(random, draw);
  draw_sharding_to_come(random, draw);
  draw_stages_to_come(random, draw);
  return draw;
}

}  // namespace moe::test
