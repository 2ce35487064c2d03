#include <string>

#include "db/console/format_rows.h"
#include "moe/model/model.h"
#include "moe/model/model_figures.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/costs/cluster.h"
#include "tuner/scenario/shipped.h"

namespace tuner {
namespace {

/// Empty where a cluster has no such link.
db::Cell rate_cell(const Link& link) {
  return link.bandwidth_bytes_per_s > 0 ? db::Cell(link.bandwidth_bytes_per_s) : db::Cell();
}

/// Those of the levels above the nodes, innermost first; empty where there are none.
db::Cell names_of(const std::vector<NetworkLevel>& levels) {
  std::string names;
  for (const NetworkLevel& level : levels) names += (names.empty() ? "" : ",") + level.name;
  return names.empty() ? db::Cell() : db::Cell(names);
}

}  // namespace

int clusters(const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments),
                       {"cluster", "device", "nodes", "ranks_per_node", "cards_per_node", "levels",
                        "memory_bytes", "inter_node_bytes_per_s", "intra_node_bytes_per_s", "bf16",
                        "fits", "measured_fits", "about"});
  for (const ShippedFile& file : shipped_clusters()) {
    const auto [cluster, costs] = load_cluster(file.path);
    writer.row({file.name, cluster.device, std::int64_t{cluster.nodes},
                std::int64_t{cluster.ranks_per_node}, std::int64_t{cluster.cards_per_node},
                names_of(cluster.levels),
                cluster.memory_bytes > 0 ? db::Cell(cluster.memory_bytes) : db::Cell(),
                rate_cell(cluster.inter_node), rate_cell(cluster.intra_node),
                std::string(costs.fits.contains(gemm_fit("bf16")) ? "yes" : "no"),
                static_cast<std::int64_t>(costs.fits.size()),
                static_cast<std::int64_t>(costs.measured.size()), file.about});
  }
  writer.finish();
  return 0;
}

int models(const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments),
                       {"model", "blocks", "d_model", "experts", "choices", "precision",
                        "parameters", "active_parameters", "token_flops", "about"});
  for (const ShippedFile& file : shipped_models()) {
    const moe::Model model = moe::load_model(file.path);
    const moe::ModelFigures figures = moe::figures_of(model);
    writer.row({file.name, std::int64_t{model.blocks}, std::int64_t{model.d_model},
                std::int64_t{model.experts}, std::int64_t{model.choices},
                std::string(moe::name_of(model.dtype)), figures.parameters,
                figures.active_parameters, figures.token_flops, file.about});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
