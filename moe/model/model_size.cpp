#include "moe/model/model_size.h"

#include "moe/model/experts/experts.h"

namespace moe {

ModelSize model_size(const Model& model) {
  const auto m = static_cast<double>(model.d_model), v = static_cast<double>(model.vocabulary);
  const auto length = static_cast<double>(model.sequence_length);
  const double key_width = m / model.heads * key_value_heads(model);
  const double products = expert_named(model.expert).facts.products;
  const double dense_hidden = products * static_cast<double>(model.d_hidden);
  const double hidden = products * static_cast<double>(expert_hidden(model));
  const double mixtures = blocks_with_experts(model), dense = model.blocks - mixtures;
  const double experts = model.experts, shared = model.shared_experts;

  ModelSize size;
  size.parameters = v * m * (model.head == Head::tied ? 1 : 2) +
                    (model.positions == Positions::learned ? length * m : 0) +
                    model.blocks * 2 * m * (m + key_width) + dense * m * dense_hidden +
                    mixtures * m * (experts + (experts + shared) * hidden) +
                    mixtures * experts * static_cast<double>(model.gate_rank);
  // A token's row: logits; norms, residuals and projections, a probability per head and key; what networks
  // keep, for every copy of the token; scores of experts.
  const double row = v + model.blocks * (6 * m + 2 * key_width + model.heads * length) +
                     dense * (2 * m + dense_hidden) +
                     mixtures * (model.choices * (2 * m + hidden) + shared * hidden + experts +
                                 static_cast<double>(model.gate_rank));
  size.activations = static_cast<double>(model.global_batch) * length * row;
  return size;
}

}  // namespace moe
