#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

namespace moe {

/// A way of a product, and what it is a way of (Backend::multiplies_by).
struct KnownWay {
  std::string library;
  ProductWay way;
};

/// "bf16 NT 2048 x 14336 x 4096 in bf16 8 times, biased": types, transposes and m, n, k as in Product.
std::string product_text(const Product& product);
/// None for another text.
std::optional<Product> product_of(const std::string& text);

/// Has the devices of all ranks carry out products in the fastest ways. Each rank names those that
/// it has to carry out. `known` is asked on rank 0 for ways that were found before; those are taken
/// over, so that the same training gives the same bits again. The others are timed, each by the
/// first rank that names it on such a device, and rank 0 gets them too. All ranks with such a device
/// take the same ways of all products that any of them names: ranks that compute alike go on to get
/// the same bits. Returns the ways taken, of all devices; none where products have one way.
/// Collective.
std::vector<KnownWay> choose_products(
    Communicator& world, Backend& backend, const std::vector<Product>& products,
    const std::function<std::vector<KnownWay>(const std::string& library)>& known,
    double time_limit_s);

}  // namespace moe
