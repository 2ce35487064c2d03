#include "tuner/scenario/shipped.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "db/console/format_rows.h"
#include "moe/model/model_figures.h"
#include "moe/source_tree.h"

namespace tuner {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<ShippedFile> shipped_in(const char* folder) {
  std::vector<ShippedFile> files;
  std::error_code none;  // an installed program may have lost its files
  const auto path = moe::source_tree() / "experiments" / folder;
  for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
    if (entry.path().extension() != ".toml") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    files.push_back({entry.path().stem().string(), entry.path(), first_sentence(text)});
  }
  std::ranges::sort(files, {}, &ShippedFile::name);
  return files;
}

}  // namespace

std::vector<ShippedFile> shipped_models() { return shipped_in("models"); }
std::vector<ShippedFile> shipped_clusters() { return shipped_in("clusters"); }

moe::Listing model_list() {
  moe::Listing list{"models: parameters, those that a token uses, and a token's FLOPs in training",
                    {}};
  for (const ShippedFile& file : shipped_models()) {
    const moe::ModelFigures figures = moe::figures_of(moe::load_model(file.path));
    list.entries.push_back(
        {file.name, fmt::format("{:>13}, {:>13} active, {:>11}",
                                db::format_cell("parameters", figures.parameters),
                                db::format_cell("parameters", figures.active_parameters),
                                db::format_cell("token_flops", figures.token_flops))});
  }
  return list;
}

std::string first_sentence(const std::string& text) {
  std::istringstream lines(text);
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    const std::size_t begin = line.find_first_not_of("# ");
    if (begin == std::string::npos) break;
    if (!comment.empty()) comment += ' ';
    comment += line.substr(begin);
  }
  std::size_t end = comment.find(". ");
  while (end != std::string::npos && end + 2 < comment.size() && is_digit(comment[end + 2])) {
    end = comment.find(". ", end + 1);  // "Fig. 5"
  }
  if (end == std::string::npos && comment.ends_with('.')) end = comment.size() - 1;
  return comment.substr(0, end);
}

}  // namespace tuner
