#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "moe/train/checkpoint/checksum.h"

namespace moe {

/// The text of a checkpoint's index with another content, whose checksum is right.
template <class Change>
std::string resealed(const std::string& index, Change change) {
  auto json = nlohmann::ordered_json::parse(index);
  change(json["content"]);
  const std::string content = json["content"].dump();
  json["checksum"] = checksum_text(checksum(std::as_bytes(std::span(content))));
  return json.dump(1);
}

}  // namespace moe
