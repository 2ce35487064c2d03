#include "moe/model/published/config_text.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "moe/model/model_key.h"
#include "moe/model/published/parts.h"

namespace moe {
namespace {

std::string_view torch_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::bf16:
      return "bfloat16";
    case DType::i32:
    case DType::remainder:
      break;
  }
  throw std::logic_error("config: parameters of integers");
}

Json as_json(const KeyValue& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);
}

void write_one(const Model& model, const ConfigKey& key, Json& config) {
  const ModelKey& ours = key_named(model, key.ours);
  const KeyValue value = ours.get(ours, model);
  config[std::string(key.theirs)] = key.words.front().empty()
                                        ? as_json(value)
                                        : Json(value != KeyValue(std::string(key.words.front())));
}

}  // namespace

std::string config_text(const Model& model, const PublishedClass& of) {
  const std::string_view type = of.written_type.empty() ? of.name : of.written_type;
  Json config{{"architectures", {of.architecture}}, {"model_type", type}};
  for (const ConfigKey& key : of.keys) write_one(model, key, config);
  // Where no block is dense, the width of dense ones is that of experts.
  const bool has_own_width = config.contains("moe_intermediate_size");
  if (!has_own_width) config["intermediate_size"] = expert_hidden(model);
  parts::angles.write(model, of, config);
  parts::windows.write(model, of, config);
  for (const ConfigPart& part : of.parts) part.write(model, of, config);
  config["hidden_act"] = "silu";
  config["max_position_embeddings"] = model.sequence_length;
  config["torch_dtype"] = torch_type(model.dtype);
  for (const char* token : {"bos_token_id", "eos_token_id", "pad_token_id"})
    config[token] = nullptr;
  return config.dump(2) + "\n";
}

}  // namespace moe
