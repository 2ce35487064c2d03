#include "moe/train/chosen_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "moe/communicator/announced_work.h"
#include "moe/communicator/ranks.h"

namespace moe {
namespace {

using Ways = std::map<std::pair<std::string, Product>, ProductWay>;

std::optional<DType> type_of(std::string_view name) {
  for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

std::string text_of(const Ways& ways) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [of, way] : ways) {
    list.push_back(
        {of.first, product_text(of.second), way.algorithm, way.duration_s, way.unasked_s});
  }
  return list.dump();
}

/// The first rank's way of each product.
void add(Ways& ways, const std::string& text) {
  for (const nlohmann::json& one : nlohmann::json::parse(text)) {
    const auto product = product_of(one.at(1).get<std::string>());
    if (!product) continue;
    const ProductWay way{*product, one.at(2), one.at(3), one.at(4)};
    ways.try_emplace({one.at(0).get<std::string>(), *product}, way);
  }
}

/// What a rank has to carry out, and by what.
struct Wanted {
  std::string library;
  std::set<Product> products;
};

Wanted wanted_of(const std::string& text) {
  const nlohmann::json whole = nlohmann::json::parse(text);
  Wanted wanted{whole.at(0), {}};
  for (const nlohmann::json& one : whole.at(1)) {
    if (const auto product = product_of(one.get<std::string>())) wanted.products.insert(*product);
  }
  return wanted;
}

std::string text_of(const std::string& library, const std::vector<Product>& products) {
  nlohmann::json list = nlohmann::json::array();
  for (const Product& product : products) list.push_back(product_text(product));
  return nlohmann::json::array({library, std::move(list)}).dump();
}

/// The wanted ones of those that were found before.
Ways known_ways(const std::vector<Wanted>& wanted,
                const std::function<std::vector<KnownWay>(const std::string&)>& known) {
  Ways ways;
  std::set<std::string> asked;
  for (const Wanted& of_rank : wanted) {
    if (of_rank.library.empty() || !asked.insert(of_rank.library).second) continue;
    for (const KnownWay& one : known(of_rank.library)) {
      const bool is_wanted = std::ranges::any_of(wanted, [&](const Wanted& other) {
        return other.library == one.library && other.products.contains(one.way.product);
      });
      if (is_wanted) ways.try_emplace({one.library, one.way.product}, one.way);
    }
  }
  return ways;
}

}  // namespace

std::string product_text(const Product& product) {
  return fmt::format("{} {}{} {} x {} x {} in {}{}{}{}{}", name_of(product.in),
                     product.transpose_a ? 'T' : 'N', product.transpose_b ? 'T' : 'N', product.m,
                     product.n, product.k, name_of(product.out),
                     product.batch > 1 ? fmt::format(" {} times", product.batch) : "",
                     product.accumulate ? ", added" : "", product.biased ? ", biased" : "",
                     product.grouped ? ", grouped" : "");
}

std::optional<Product> product_of(const std::string& text) {
  std::istringstream words(text);
  std::string in, sides, out, by, rest;
  Product product;
  words >> in >> sides >> product.m >> by >> product.n >> by >> product.k >> by >> out;
  std::getline(words, rest);
  product.in = type_of(in).value_or(product.in);
  product.out = type_of(out.substr(0, out.find(','))).value_or(product.out);
  product.transpose_a = sides.starts_with('T');
  product.transpose_b = sides.ends_with('T');
  product.accumulate = rest.find("added") != std::string::npos;
  product.biased = rest.find("biased") != std::string::npos;
  product.grouped = rest.find("grouped") != std::string::npos;
  if (rest.find("times") != std::string::npos) std::istringstream(rest) >> product.batch;
  if (product_text(product) != text) return std::nullopt;
  return product;
}

std::vector<KnownWay> choose_products(
    Communicator& world, Backend& backend, const std::vector<Product>& products,
    const std::function<std::vector<KnownWay>(const std::string&)>& known, double time_limit_s) {
  const std::string library = backend.multiplies_by();
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "survey of the matrix products";
  std::vector<Wanted> wanted;
  for (const std::string& text : gather_texts(world, text_of(library, products), call)) {
    wanted.push_back(wanted_of(text));
  }
  const bool some =
      std::ranges::any_of(wanted, [](const Wanted& of_rank) { return !of_rank.library.empty(); });
  if (!some) return {};

  Ways ways;
  call.what = "exchange of the known ways to multiply";
  add(ways, broadcast_text(
                world, world.rank == 0 ? text_of(known_ways(wanted, known)) : std::string(), call));
  std::vector<Product> unknown;
  for (const Product& product : wanted[static_cast<std::size_t>(world.rank)].products) {
    const auto before = std::span(wanted).first(static_cast<std::size_t>(world.rank));
    const bool others = std::ranges::any_of(before, [&](const Wanted& of_rank) {
      return of_rank.library == library && of_rank.products.contains(product);
    });
    if (!others && !ways.contains({library, product})) unknown.push_back(product);
  }
  Ways mine;
  {
    const AnnouncedWork timing("times matrix products");
    for (ProductWay& way : backend.time_products(unknown)) {
      mine.try_emplace({library, way.product}, way);
    }
  }
  call.what = "exchange of the ways to multiply";
  for (const std::string& text : gather_texts(world, text_of(mine), call)) add(ways, text);

  std::vector<KnownWay> all;
  std::vector<ProductWay> own;
  for (auto& [of, way] : ways) {
    all.push_back({of.first, way});
    if (of.first == library) own.push_back(std::move(way));
  }
  backend.take_ways(std::move(own));
  return all;
}

}  // namespace moe
