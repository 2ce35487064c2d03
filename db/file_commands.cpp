#include "db/file_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/format_rows.h"
#include "db/console/options.h"
#include "db/console/shown_text.h"
#include "db/merge.h"
#include "db/prune.h"
#include "db/transaction.h"

namespace db {
namespace {

/// Adds the rows of all files to a database that is there, or of none.
std::vector<Merged> merge_into(const std::string& path, const std::vector<std::string>& files) {
  auto into = open_writer(path, {.create = false});
  Transaction transaction(into, "merge files");
  std::vector<Merged> merged;
  for (const std::string& file : files) merged.push_back(merge_from(into, file));
  transaction.commit();
  return merged;
}

int merge_named_files(const std::vector<std::string>& files, const std::string& output,
                      const std::string& into) {
  if (output.empty() && into.empty()) {
    throw Error(ErrorKind::invalid,
                "merge: expected --output with a new database, or --db with one that is there");
  }
  const std::vector<Merged> merged =
      into.empty() ? merge_files(files, output) : merge_into(into, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Merged& of_file = merged[i];
    spdlog::info("{}: {}, {}, {}; its run 1 is run {}", files[i], counted(of_file.runs, "run"),
                 counted(of_file.studies, "study", "studies"),
                 counted(of_file.timelines, "timeline"), of_file.new_runs + 1);
    for (const auto& [name, now] : of_file.renamed) {
      spdlog::warn("{}: study {} is called {} now: another file has a study of its name", files[i],
                   name, now);
    }
  }
  return kExitDone;
}

int prune_file(const std::string& path, int keep) {
  auto connection = open_writer(path, {.create = false});
  const Pruned pruned = prune_timelines(connection, keep);
  spdlog::info("{}: {} of {} removed, {} freed ({} before, {} now)", path,
               counted(pruned.spans, "span"), counted(pruned.timelines, "timeline"),
               format_cell("bytes", pruned.bytes_before - pruned.bytes_after),
               format_cell("bytes", pruned.bytes_before), format_cell("bytes", pruned.bytes_after));
  if (pruned.kept_for_studies > 0) {
    spdlog::info("{} kept, since costs of studies come from them",
                 counted(pruned.kept_for_studies, "older timeline"));
  }
  return kExitDone;
}

void add_merge(CLI::App& app, std::function<int()>& action) {
  const auto files = std::make_shared<std::vector<std::string>>();
  const auto output = std::make_shared<std::string>(), into = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("merge", "make one database of several");
  command->add_option("FILE", *files, "the databases to merge")->required()->type_name("");
  CLI::Option* const made =
      command->add_option("-o,--output", *output, "the database to make; it must not be there")
          ->check(options::not_empty())
          ->type_name("FILE");
  options::add_database(*command, *into, "the database to add them to");
  command->get_option("--db")->excludes(made);
  options::set_footer(
      *command,
      "moe-db merge node1.db node2.db -o all.db\nmoe-db merge node1.db node2.db --db results.db",
      "Runs, studies and timelines get new numbers; equal machines and schedules are "
      "stored once. A study whose name is taken is renamed, with a message. A file "
      "that has a run of another, as a copy has, is refused.");
  command->callback([files, output, into, &action] {
    action = [files, output, into] { return merge_named_files(*files, *output, *into); };
  });
}

void add_prune(CLI::App& app, std::function<int()>& action) {
  const auto path = std::make_shared<std::string>();
  const auto keep = std::make_shared<int>(1);
  CLI::App* command =
      app.add_subcommand("prune", "remove the spans of older timelines, and give their space back");
  options::add_database(*command, *path, "the database to make smaller");
  command->get_option("--db")->required();
  command
      ->add_option(
          "--keep-spans", *keep,
          "keep the spans of the newest N measured and the newest N predicted timelines of "
          "each trial, and of each run that is of no trial")
      ->required()
      ->check(options::whole_number(0, 1'000'000))
      ->type_name("N");
  options::set_footer(*command, "moe-db prune --db results.db --keep-spans 1",
                      "How ranks spent their time stays (activity_view, op_activity_view), and all "
                      "other rows; so do the timelines that the costs of a study come from.");
  command->callback(
      [path, keep, &action] { action = [path, keep] { return prune_file(*path, *keep); }; });
}

}  // namespace

void add_file_commands(CLI::App& app, std::function<int()>& action) {
  add_merge(app, action);
  add_prune(app, action);
}

}  // namespace db
