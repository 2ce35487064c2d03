#include "db/import_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/options.h"
#include "db/console/shown_text.h"
#include "db/identity.h"
#include "db/import_figures.h"
#include "db/import_routing.h"
#include "db/import_sweeps.h"
#include "db/open_import.h"

namespace db {
namespace {

constexpr int kMostRanksOfLog = 1'000'000;

struct ImportArguments {
  std::string path, file;
  SweepFacts facts;
  int experts = 0;  ///< of a routing; 0: as the file has
  std::vector<std::string> command_line;
};

Run run_of_import(const ImportArguments& arguments, const std::string& kind,
                  const std::string& name) {
  std::vector<const char*> words;
  for (const std::string& word : arguments.command_line) words.push_back(word.c_str());
  return this_run(kind, name, static_cast<int>(words.size()), words.data());
}

int import_figures_file(const ImportArguments& arguments) {
  auto connection = open_writer(arguments.path);
  const auto run =
      import_figures(connection, run_of_import(arguments, "figures", "reproduce"), arguments.file);
  spdlog::info("run {}: the figures of {}", run, arguments.file);
  return kExitDone;
}

std::string count_of(const auto& all, const char* one) {
  return counted(static_cast<std::int64_t>(all.size()), one);
}

using ReadSweeps = ImportedSweeps (*)(std::istream&, const std::string&, const SweepFacts&);

int import_sweeps(const ImportArguments& arguments, ReadSweeps read) {
  const std::string& path = arguments.file;
  std::ifstream file = open_import(path);
  const ImportedSweeps imported = read(file, path, arguments.facts);
  const std::string name = std::filesystem::path(path).filename().string();
  for (const std::string& remark : imported.remarks) spdlog::info("{}: {}", path, remark);
  auto connection = open_writer(arguments.path);
  const StoredSweeps stored =
      store_sweeps(connection, run_of_import(arguments, "bench", name), imported);
  for (std::size_t i = 0; i < stored.sweeps.size(); ++i) {
    const ImportedSweep& sweep = imported.sweeps[i];
    const auto& [run, is_known, beside] = stored.sweeps[i];
    const std::set<std::string> nodes(sweep.hosts.begin(), sweep.hosts.end());
    const std::string what = fmt::format(
        "{} of {} on {} ranks of {} of {}", count_of(sweep.rows, "size"), sweep.rows.front().op,
        sweep.hosts.size(), count_of(nodes, "node"), sweep.machine);
    if (is_known) {
      spdlog::warn("run {} has these {} already: not stored again", run, what);
      continue;
    }
    spdlog::info("run {}: {}", run, what);
    if (beside.empty()) continue;
    spdlog::warn(
        "run {} {} of this collective on these ranks of {} too: moe-tune fit takes them together, "
        "--run chooses; another --machine or --network tells them apart",
        fmt::join(beside, ", "), beside.size() == 1 ? "is" : "are", sweep.machine);
  }
  return kExitDone;
}

int import_routing_file(const ImportArguments& arguments) {
  const std::string& path = arguments.file;
  std::ifstream file = open_import(path);
  const RoutingCounts counts = read_routing_counts(
      file, path, arguments.experts > 0 ? std::optional(arguments.experts) : std::nullopt);
  for (const std::string& remark : counts.remarks) spdlog::info("{}: {}", path, remark);
  auto connection = open_writer(arguments.path);
  const std::string name = std::filesystem::path(path).filename().string();
  const auto [run, is_known] =
      store_routing(connection, run_of_import(arguments, kRoutingRun, name), counts);
  if (is_known) {
    spdlog::warn("run {} has these counts already: not stored again", run);
    return kExitDone;
  }
  std::set<int> steps, layers, ranks;
  for (const Load& load : counts.loads) {
    steps.insert(load.iteration);
    layers.insert(load.layer);
    ranks.insert(load.rank);
  }
  spdlog::info(
      "run {}: counts of {} experts in {}, {}, {}; moe-db export routing --run {} writes "
      "them for moe-tune --routing",
      run, counts.experts, count_of(layers, "layer"), count_of(steps, "step"),
      count_of(ranks, "rank"), run);
  return kExitDone;
}

using SharedImport = std::shared_ptr<ImportArguments>;

CLI::App& add_format(CLI::App& formats, const char* name, const char* description,
                     const char* of_file, const SharedImport& arguments) {
  CLI::App* command = formats.add_subcommand(name, description);
  options::add_database(*command, arguments->path,
                        "the database to write; made where there is none");
  command->get_option("--db")->required();
  command->add_option("FILE", arguments->file, of_file)->required()->type_name("");
  return *command;
}

void add_facts(CLI::App& command, SweepFacts& facts) {
  const auto add_count = [&](const char* name, int& count, const char* about) {
    command.add_option(name, count, about)
        ->check(options::whole_number(1, kMostRanksOfLog))
        ->type_name("N");
  };
  command
      .add_option("--collective", facts.collective,
                  "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or reduce, where "
                  "neither the log nor the file's name says so")
      ->type_name("NAME");
  command
      .add_option("--machine", facts.machine,
                  "the machine's name, by which --cluster measured finds it: its first host, where "
                  "the log has one")
      ->type_name("NAME");
  command.add_option("--network", facts.network, "the network between its nodes, in your words")
      ->type_name("TEXT");
  command.add_option("--gpu", facts.gpu, "its kind of GPU, where the log does not say")
      ->type_name("TEXT");
  add_count("--ranks", facts.ranks, "how many took part, where the log does not say");
  add_count("--nodes", facts.nodes, "on how many equal nodes they ran, where it does not say");
}

}  // namespace

void add_import_commands(CLI::App& app, const std::vector<std::string>& command_line,
                         std::function<int()>& action) {
  CLI::App* formats = app.add_subcommand("import", "store what other programs wrote");
  formats->require_subcommand(1);
  const auto arguments = std::make_shared<ImportArguments>();
  arguments->command_line = command_line;

  CLI::App& figures =
      add_format(*formats, "figures", "store figures of the papers beside ours, as a run",
                 "CSV of experiments/reproduce", arguments);
  options::set_footer(figures,
                      "moe-db import figures build/reproduce/all.csv --db results.db\n"
                      "moe-db figures --db results.db --paper FSMoE",
                      "All figures of the file are stored, or none.");
  figures.callback(
      [arguments, &action] { action = [arguments] { return import_figures_file(*arguments); }; });

  const auto add_sweeps = [&](const char* name, const char* description, const char* of_file,
                              ReadSweeps read, const char* example,
                              const char* about) -> CLI::App& {
    CLI::App& command = add_format(*formats, name, description, of_file, arguments);
    add_facts(command, arguments->facts);
    options::set_footer(command, example,
                        std::string(about) + " All of the file is stored, or none.");
    command.callback([arguments, &action, read] {
      action = [arguments, read] { return import_sweeps(*arguments, read); };
    });
    return command;
  };
  add_sweeps("nccl-tests", "store sweeps of nccl-tests or rccl-tests as a run each",
             "what all_reduce_perf and its like printed", read_nccl_tests,
             "moe-db import nccl-tests all_reduce_8xH200.txt --db nccl.db\n"
             "moe-tune fit --db nccl.db --at 1M:512M:x2",
             "Times out of place are taken. Rows with wrong values are left out.");
  add_sweeps("osu", "store a sweep of OSU's benchmarks as a run",
             "what osu_allreduce and its like printed", read_osu,
             "moe-db import osu alltoall.txt --db osu.db --machine c1 --ranks 4 --nodes 2 \\\n"
             "    --device cpu",
             "--machine, --ranks, --nodes and --device are needed, for the log says none of them.")
      .add_option("--device", arguments->facts.device, "where the arrays were")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda");
  add_sweeps("vtrain", "store a table of vTrain's all-reduces as a run",
             "CSV named as AR_GPU8_1M_1024M_LUT", read_vtrain,
             "moe-db import vtrain trace/a100/AR_GPU8_1M_1024M_LUT --db a100.db \\\n"
             "    --machine dgx-a100 --gpu \"NVIDIA A100\"",
             "--machine is needed. Times out of place are taken.");

  CLI::App& routing =
      add_format(*formats, "routing", "store how often experts were chosen, as the loads of a run",
                 "counts [layer][expert] (EPLB), CSV of layer, expert and count, or JSON lines of "
                 "top_indices (Megatron-LM)",
                 arguments);
  routing
      .add_option("--experts", arguments->experts,
                  "how many there are, where the last may not have been chosen")
      ->check(options::whole_number(1, kMostRanksOfLog))
      ->type_name("N");
  options::set_footer(
      routing,
      "moe-db import routing router_trace_rank0.jsonl --db r.db --experts 64\n"
      "moe-db export routing --db r.db --run 1 -o counts.json",
      "moe-tune --routing scales counts to the tokens of its model. All of the file "
      "is stored, or none.");
  routing.callback(
      [arguments, &action] { action = [arguments] { return import_routing_file(*arguments); }; });

  options::set_footer(*formats,
                      "moe-db import figures build/reproduce/all.csv --db results.db\n"
                      "moe-db import nccl-tests all_reduce_8xH200.txt --db nccl.db");
}

}  // namespace db
