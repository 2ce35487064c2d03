#pragma once

#include <string>
#include <vector>

namespace moe {

/// The names that a user may use, each with a line about it, as `moe-train --list` prints them.
struct Listing {
  struct Entry {
    std::string name;
    std::string text;
  };
  std::string title;  ///< "gates"
  std::vector<Entry> entries;
};

/// Gates, orders, hooks and expert networks.
std::vector<Listing> listings_of_model();
/// The keys of a model file: "keys of [model]", "keys of [moe]", ...
std::vector<Listing> listings_of_keys();

/// The title, and each entry in lines of at most 80 columns.
std::string to_text(const Listing& listing);

}  // namespace moe
