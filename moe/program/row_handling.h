#pragma once

#include <list>
#include <map>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/row_layout.h"

/// The handling of routed rows in the MoE layers of a Program, and the row layouts that follow once
/// the routing is known.
namespace moe {

/// [MoE layer]: every slice boundary that ops use on its rows, ascending from 0 to 1, as reduced
/// fractions {index, count}.
std::map<int, std::vector<Slice>> slice_cuts(const Program& program);

/// [MoE layer]: how its rows are handled.
std::map<int, RowHandling> row_handling(const Program& program);

/// The rows that ranks exchange under `routing`: its copies, or where rows are padded as many as
/// there are for every rank and expert.
Routing exchanged_rows(const Program& program, Routing routing);

/// A layer, micro-batch and part whose routing a Program binds or whose rows are padded: how its
/// rows are handled, the counts of all ranks, and who computes them.
struct RoutedRows {
  RoutedLayer at;
  const RowHandling* handling = nullptr;
  const LayerRouting* counts = nullptr;
  SharesByCopy* shares = nullptr;  ///< of all ranks
};
/// Its rows on one rank.
RowLayout make_row_layout(const RoutedRows& rows, const Groups& groups, int rank);

/// The routed rows of a Program in the order of its exchanges of counts. It is worked out once for
/// all ranks, and refers to the routing.
class AllRoutedRows {
 public:
  /// A part of the batch has the counts of part_of(its layer's routing); where rows are padded, the
  /// routing does not matter. Throws std::out_of_range for a layer without routing.
  AllRoutedRows(const Program& program, const Routing& routing);
  /// Only the layers, micro-batches and parts whose rows are padded, which no routing changes.
  explicit AllRoutedRows(const Program& program);
  AllRoutedRows(const AllRoutedRows&) = delete;
  AllRoutedRows& operator=(const AllRoutedRows&) = delete;

  const std::vector<RoutedRows>& layers() const { return layers_; }
  /// The row layouts of all of them on `rank`.
  Binding bind(const Groups& groups, int rank) const;

 private:
  /// `routing`: null for padded rows alone.
  AllRoutedRows(const Program& program, const Routing* routing);

  std::map<int, RowHandling> handling_;
  std::list<LayerRouting> parts_;
  std::list<SharesByCopy> shares_;
  std::vector<RoutedRows> layers_;
};

/// The row layouts of those whose rows are padded.
Binding padded_rows(const Program& program, const Groups& groups, int rank);

/// The row layouts of all of them, for one rank.
Binding bind(const Program& program, const Routing& routing, const Groups& groups, int rank);

}  // namespace moe
