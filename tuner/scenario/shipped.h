#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "moe/model/listing.h"

namespace tuner {

/// A file of experiments/models or experiments/clusters, which can be named without its path.
struct ShippedFile {
  std::string name;
  std::filesystem::path path;
  std::string about;  ///< the first sentence of the comment that it begins with
};
/// Ordered by name. Empty where the programs' files are not there.
std::vector<ShippedFile> shipped_models();
std::vector<ShippedFile> shipped_clusters();
/// The models with their figures (model_figures.h), for `moe-train --list models`.
moe::Listing model_list();

/// The first sentence of the comment that a TOML file's text begins with; all of the comment where no
/// full stop ends one; "" without a comment.
std::string first_sentence(const std::string& text);

}  // namespace tuner
