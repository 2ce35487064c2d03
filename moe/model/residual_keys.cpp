#include "moe/model/residual_keys.h"

#include <string>

namespace moe {
namespace {

const ModelKey& residual_key(std::string_view name) {
  return key_named(residual_keys::kKeys, name);
}

}  // namespace

double embedding_factor(const Model& model) {
  return own_number(residual_key("embedding_factor"), model);
}

double residual_factor(const Model& model) {
  return own_number(residual_key("residual_factor"), model);
}

double logits_factor(const Model& model) {
  return 1 / own_number(residual_key("logits_divisor"), model);
}

bool norms_before(const Model& model) {
  const KeyValue place = own_value(residual_key("norm_place"), model);
  return place == KeyValue(std::string(residual_keys::kBefore));
}

}  // namespace moe
