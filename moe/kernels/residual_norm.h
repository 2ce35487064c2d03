#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "moe/kernels/add.h"
#include "moe/kernels/layer_norm.h"
#include "moe/kernels/rms_norm.h"
#include "moe/kernels/stored_type.h"

/// A sum and the norm of it in one launch, as at every residual connection: the norm reads what its
/// own thread has just written.
namespace moe {

/// sum = a + b, and then `norm` of the row, whose x is the sum. A team per row. Members go on with
/// the elements of x that they wrote themselves, so no barrier stands between the two.
template <class Stored, class Norm>
struct ResidualNormBody {
  const Stored* a;
  const Stored* b;
  Stored* sum;
  Norm norm;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int64_t begin = row * norm.width;
    norm.normalize(team, row,
                   team.hold(norm.width, sum + begin, SumOfTwo<Stored>{}, a + begin, b + begin));
  }
};

/// Whether a row that is written cannot change what another row still reads: the two tensors are
/// apart, or lie row upon row.
inline bool rows_stay_apart(const View& written, const View& read) {
  const auto bytes = [](const View& view) { return count_of(view) * bytes_of(view.dtype); };
  const auto *write = static_cast<const std::byte*>(written.data),
             *other = static_cast<const std::byte*>(read.data);
  if (write + bytes(written) <= other || other + bytes(read) <= write) return true;
  return write == other && written.dtype == read.dtype && written.columns == read.columns;
}

/// Whether one launch can carry out `sum` and, after it, `norm`. The norm may have been given the
/// memory of what the sum read last.
inline bool is_residual_norm(const BoundOp& sum, const BoundOp& norm) {
  const bool of_kinds = std::holds_alternative<Add>(sum.op->kind) &&
                        (std::holds_alternative<LayerNorm>(norm.op->kind) ||
                         std::holds_alternative<RmsNorm>(norm.op->kind));
  if (!of_kinds) return false;
  const View &made = sum.writes[0], &x = norm.reads[0];
  const bool same = made.data == x.data && made.dtype == x.dtype && made.columns == x.columns &&
                    sum.ranges.size() == 1 && sum.ranges[0].begin == 0 &&
                    sum.ranges[0].rows == x.rows;
  if (!same) return false;
  for (const View& written : norm.writes) {
    for (const View& read : sum.reads) {
      if (!rows_stay_apart(written, read)) return false;
    }
  }
  return true;
}

template <class Stored, class Exec>
void launch_residual_norm(Exec& exec, const BoundOp& sum, const BoundOp& norm) {
  const View& x = norm.reads[0];
  const auto launch_with = [&](const auto& body) {
    exec.rows(x.rows, x.columns,
              ResidualNormBody<Stored, std::decay_t<decltype(body)>>{
                  data_of<Stored>(sum.reads[0]), data_of<Stored>(sum.reads[1]),
                  data_of<Stored>(sum.writes[0]), body});
  };
  if (const auto* kind = std::get_if<LayerNorm>(&norm.op->kind)) {
    launch_with(layer_norm_body<Stored>(*kind, norm));
  } else {
    launch_with(rms_norm_body<Stored>(std::get<RmsNorm>(norm.op->kind), norm));
  }
}

/// Carries out both in one launch; false, having done nothing, where that is not possible.
template <class Exec>
bool execute_residual_norm(Exec& exec, const BoundOp& sum, const BoundOp& norm) {
  if (!is_residual_norm(sum, norm)) return false;
  switch (stored_type(norm)) {
    case DType::f64:
      launch_residual_norm<double>(exec, sum, norm);
      break;
    case DType::bf16:
      launch_residual_norm<Bf16>(exec, sum, norm);
      break;
    default:
      launch_residual_norm<float>(exec, sum, norm);
  }
  return true;
}

}  // namespace moe
