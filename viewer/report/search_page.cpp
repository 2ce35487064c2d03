#include "viewer/report/search_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "viewer/model/format.h"
#include "viewer/model/setup_list.h"
#include "viewer/model/trial_figures.h"
#include "viewer/report/html.h"

namespace viewer {

namespace {

constexpr std::array kSetupColumns = {"setup",         "order",       "planner", "time", "tokens/s",
                                      "share of peak", "peak memory", "bound",   "front"};

std::string setup_time(const db::PredictedSetup& setup) {
  return duration_text(setup.predicted_s, 3);
}

std::string setup_peak(const db::PredictedSetup& setup) {
  return bytes_text(static_cast<double>(setup.predicted_peak_bytes));
}

std::string ranks_of_cluster(const db::SetupOverview& one) {
  std::string text = fmt::format("{} rank{}", one.setup.ranks, one.setup.ranks == 1 ? "" : "s");
  if (!one.cluster.empty()) text += " of " + one.cluster;
  if (!one.setup.settings.empty()) text += ", " + one.setup.settings;
  return text;
}

std::string setup_cards(const db::PredictedSetup& best) {
  std::string cards = figure_card(setup_time(best), "an iteration, as predicted");
  cards += figure_card(grouped(best.tokens_per_s, 0), "tokens a second");
  if (best.peak_share) {
    cards += figure_card(percent_text(*best.peak_share), "of the FLOP/s that the ranks can reach");
  }
  cards += figure_card(setup_peak(best), "peak memory of the fullest rank");
  if (best.lower_bound_s > 0) {
    cards += figure_card(fmt::format("{:.2f}x", best.predicted_s / best.lower_bound_s),
                         "the lower bound of " + duration_text(best.lower_bound_s, 3));
  }
  return fmt::format("<dl class=\"figures\">\n{}</dl>\n", cards);
}

// The fastest of a group, what memory costs in time, and what bounds.
std::string group_words(SetupGroup group) {
  const db::PredictedSetup& fastest = group.front().setup;
  std::string text = fmt::format(
      "{} setup{}. The fastest, {}, takes {} and needs {} on the fullest rank.", group.size(),
      group.size() == 1 ? "" : "s", setup_name(fastest), setup_time(fastest), setup_peak(fastest));
  const db::PredictedSetup& leanest =
      std::ranges::min_element(group, {}, [](const db::SetupOverview& one) {
        return one.setup.predicted_peak_bytes;
      })->setup;
  if (leanest.predicted_peak_bytes < fastest.predicted_peak_bytes) {
    text += fmt::format(" The least memory, {}, is that of {}, which takes {}.",
                        setup_peak(leanest), setup_name(leanest), setup_time(leanest));
  }
  if (fastest.memory_limit_bytes) {
    text += fmt::format(" A rank has {}.",
                        bytes_text(static_cast<double>(*fastest.memory_limit_bytes)));
  }
  if (!fastest.bounded_by.empty()) {
    text += fmt::format(" No execution of the fastest schedule takes less than {}: {} bounds it.",
                        duration_text(fastest.lower_bound_s, 3), bounding_text(fastest.bounded_by));
  }
  return fmt::format("<p>{}</p>\n", html_escaped(text));
}

std::string setup_table(SetupGroup group) {
  std::vector<HtmlRow> rows;
  for (const db::SetupOverview& one : group) {
    const db::PredictedSetup& setup = one.setup;
    rows.push_back(
        {{setup_name(setup), setup.micro_batch_order, setup.planner, setup_time(setup),
          grouped(setup.tokens_per_s, 0), setup.peak_share ? percent_text(*setup.peak_share) : "",
          setup_peak(setup), duration_text(setup.lower_bound_s, 3), one.on_front ? "\u2022" : ""},
         setup.place == 1});
  }
  return html_table(kSetupColumns, rows);
}

}  // namespace

std::string search_page(const SearchFacts& facts, const std::vector<Picture>& pictures,
                        const std::vector<CsvTable>& tables, const std::string& database) {
  const db::SetupOverview& best = *std::ranges::max_element(
      facts.setups, {}, [](const db::SetupOverview& one) { return one.setup.tokens_per_s; });
  std::string body = fmt::format(
      "<p class=\"over\">moelab search</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n"
      "<p class=\"muted\">{}</p>\n",
      html_escaped(best.model),
      html_escaped(fmt::format("The fastest setup on {} is {}, planned by {}: {} an iteration, as "
                               "predicted.",
                               ranks_of_cluster(best), setup_name(best.setup), best.setup.planner,
                               setup_time(best.setup))),
      html_escaped(fmt::format("run {} \u00b7 {} setups \u00b7 {}", facts.run.id,
                               facts.setups.size(), instant_text(facts.run.started_at))));
  body += setup_cards(best.setup);
  const std::vector<SetupGroup> groups = setup_groups(facts.setups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    body += fmt::format("<h2>{}</h2>\n", html_escaped(ranks_of_cluster(groups[i].front())));
    body += group_words(groups[i]) + setup_table(groups[i]);
    if (i < pictures.size()) body += html_figure(pictures[i]);
  }
  body += table_links(tables);
  body += fmt::format(
      "<footer>Written by moe-view from {}, searched with revision {}. Nothing here was measured: "
      "times and memory are predicted from the costs of the cluster. A dot: no other setup is as "
      "fast and as lean. moe-tune study --layouts best:3 measures the fastest layouts.</footer>\n",
      html_escaped(std::filesystem::path(database).filename().string()),
      html_escaped(facts.run.revision));
  return html_page(best.model + ": moelab search", body);
}

}  // namespace viewer
