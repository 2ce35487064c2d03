#include "db/import_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/options.h"
#include "db/identity.h"
#include "db/import_figures.h"
#include "db/import_sweeps.h"
#include "db/load.h"

namespace db {
namespace {

constexpr int kMostRanksOfLog = 1'000'000;

struct ImportArguments {
  std::string path, file;
  SweepFacts facts;
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

using ReadSweeps = ImportedSweeps (*)(std::istream&, const std::string&, const SweepFacts&);

int import_sweeps(const ImportArguments& arguments, ReadSweeps read) {
  const std::string& path = arguments.file;
  std::ifstream file = open_import(path);
  const ImportedSweeps imported = read(file, path, arguments.facts);
  const std::string name = std::filesystem::path(path).filename().string();
  auto connection = open_writer(arguments.path);
  for (const Run& run : load_runs(connection)) {
    if (run.kind != "bench" || run.name != name) continue;
    spdlog::warn("run {} is of a file {} too: moe-tune fit takes both, or --run chooses", run.id,
                 name);
  }
  for (const std::string& remark : imported.remarks) spdlog::info("{}: {}", path, remark);
  const auto runs = store_sweeps(connection, run_of_import(arguments, "bench", name), imported);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ImportedSweep& sweep = imported.sweeps[i];
    spdlog::info("run {}: {} sizes of {} on {} ranks", runs[i], sweep.rows.size(),
                 sweep.rows.front().op, sweep.hosts.size());
  }
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
  command.add_option("--machine", facts.machine, "a name for its hosts, where the log has none")
      ->type_name("NAME");
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

  CLI::App& nccl =
      add_format(*formats, "nccl-tests", "store sweeps of nccl-tests or rccl-tests as a run each",
                 "what all_reduce_perf and its like printed", arguments);
  add_facts(nccl, arguments->facts);
  options::set_footer(
      nccl,
      "moe-db import nccl-tests all_reduce_8xH200.txt --db nccl.db\n"
      "moe-tune fit --db nccl.db --at 1M:512M:x2",
      "Times out of place are taken. Rows with wrong values are left out. All of the "
      "file is stored, or none.");
  nccl.callback([arguments, &action] {
    action = [arguments] { return import_sweeps(*arguments, read_nccl_tests); };
  });

  CLI::App& osu = add_format(*formats, "osu", "store a sweep of OSU's benchmarks as a run",
                             "what osu_allreduce and its like printed", arguments);
  add_facts(osu, arguments->facts);
  osu.add_option("--device", arguments->facts.device, "where the arrays were")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda");
  options::set_footer(
      osu, "moe-db import osu alltoall.txt --db osu.db --ranks 4 --nodes 2 --device cpu",
      "--ranks, --nodes and --device are needed, for the log says none of them. All of the file is "
      "stored, or none.");
  osu.callback([arguments, &action] {
    action = [arguments] { return import_sweeps(*arguments, read_osu); };
  });
  options::set_footer(*formats,
                      "moe-db import figures build/reproduce/all.csv --db results.db\n"
                      "moe-db import nccl-tests all_reduce_8xH200.txt --db nccl.db");
}

}  // namespace db
