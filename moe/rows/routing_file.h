#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "moe/rows/routing.h"

namespace moe {

/// A routing as a file says it.
struct RoutingFile {
  /// `tokens` are what travelled and, where there is no `asked`, what gates asked for.
  Routing routing = {};
  /// The capacity under which copies were kept, as model files have it; none: it is not said.
  std::optional<double> capacity_factor = {};
  int capacity_groups = 0;
  /// The counts have any total: what counts is which share of a layer's copies an expert has. One
  /// row of a layer is that of all ranks.
  bool any_total = false;
  /// All counts were whole numbers. Else they are so many times as large here that the largest layer
  /// has 1e12.
  bool whole = true;
  /// How many different experts a token of the counts chose; 0: it is not said.
  int choices = 0;
  /// The layers are the MoE layers in their order, numbered from 0.
  bool by_place = false;
};

/// Reads one of
///   {"layers": [{"layer": 1, "tokens": [[per expert ...], per rank ...]}]}, each layer with a
///     "micro_batch" where there are several, and with "asked" where copies were dropped; beside
///     "layers" may stand "capacity_factor" and "capacity_groups";
///   the same with "counts" in place of "tokens", of any total, and "choices" beside "layers" where
///     it is known;
///   [[per expert ...], per MoE layer ...], counts of any total.
/// Throws InputError "NAME:LINE: key: expected ..." where a layer occurs twice, ranks or
/// micro-batches differ in the number of experts, more copies travelled than were asked for, or a
/// layer has more than 2^32 copies.
RoutingFile routing_file_from_json(std::string_view text, const std::string& name);

/// The first of these forms, without a capacity.
std::string to_json(const Routing& routing);
/// Reads what to_json() writes. Throws as routing_file_from_json(), and for counts of any total.
Routing routing_from_json(std::string_view text, const std::string& name = "routing");

}  // namespace moe
