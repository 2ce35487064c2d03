#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "moe/model/gates/gates.h"

/// A gate alone, made of its own ops, on ranks that are threads.
namespace moe::test {

struct GateInputs {
  Model model;  ///< global_batch times sequence_length tokens
  int layer = 0;
  std::int32_t step = 1;
  std::vector<double> x;         ///< of all tokens
  std::vector<double> d_weight;  ///< [tokens, columns]: the first k columns are taken
  std::int64_t d_weight_columns = 0;
  std::vector<double> ids;
  std::map<std::string, std::vector<double>> parameters;  ///< by name without the layer's
};

/// The results of all ranks together, with the tokens of all ranks in order.
struct GateResults {
  std::vector<double> expert, weight, d_x;
  /// [rank]: slots are counted from 0 on each rank.
  std::vector<std::vector<double>> slot;
  std::vector<double> demand;
  double auxiliary_loss = 0, z_loss = 0;
  std::map<std::string, std::vector<double>> gradients;   ///< summed over ranks
  std::map<std::string, std::vector<double>> parameters;  ///< afterwards, of rank 0
};

/// Rewrites what a rank runs; as it stands where empty.
using RewriteGate = std::function<Program(Program)>;

/// Forward, backward, and the update that the gate makes itself; no optimizer runs. Throws
/// std::logic_error where a parameter that the gate moves differs from rank to rank.
GateResults run_gate(const GateInputs& inputs, int ranks, const RewriteGate& rewrite = {});

}  // namespace moe::test
