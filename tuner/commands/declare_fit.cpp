#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "db/console/options.h"
#include "tuner/commands/declare.h"
#include "tuner/costs/cost_parts.h"

namespace tuner {

namespace {

std::string parts_in_words() {
  std::string text = "Parts that --judge leaves out:";
  for (const NamedCostPart& one : kCostParts) {
    text += fmt::format("\n  {}: {}", one.name, one.meaning);
  }
  return text;
}

}  // namespace

void declare_fit(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command =
      app.add_subcommand("fit", "fit times by size to the measurements in a database");
  db::options::add_database(*command, arguments.scenario.database,
                            "the database with the measurements; the fits are stored in it");
  command
      ->add_option("--run", arguments.runs,
                   "only measurements of this run; may come several times (moe-db runs lists them)")
      ->check(db::options::whole_number(1))
      ->allow_extra_args(false)
      ->type_name("ID");
  command
      ->add_option("--since", arguments.since,
                   "only measurements of runs that began then or later: 2026-11-23, \"2026-11-23 "
                   "06:10\" (UTC), or an age such as 30m, 12h or 7d")
      ->type_name("TIME");
  command
      ->add_option(
          "--at", arguments.at,
          "print what the fits say of these sizes in bytes, such as 1M:512M:x2, beside what "
          "was measured there")
      ->type_name("SIZES");
  auto* judged = command
                     ->add_option("--judge", arguments.judged,
                                  "instead: predict the trials of all studies in these databases "
                                  "again, with each part of their costs left out, one by one")
                     ->type_name("FILE...")
                     ->excludes("--run")
                     ->excludes("--since")
                     ->excludes("--at")
                     ->excludes("--db");
  command
      ->add_option("--without", arguments.without,
                   "with --judge: leave out this part of the costs; those of several --without are "
                   "left out together")
      ->type_name("PART")
      ->allow_extra_args(false)
      ->needs(judged);
  db::options::add_output(*command, arguments.output);
  db::options::set_footer(
      *command,
      "moe-tune fit --db results.db --format csv\n"
      "moe-tune fit --db results.db --since 12h\n"
      "moe-tune fit --db results.db --run 3 --run 4\n"
      "moe-tune fit --db results.db --at 64K:64M:x4\n"
      "moe-tune fit --judge a.db b.db --without slowdowns --without pairs",
      "Measurements of different machines, networks or numbers of nodes are never one fit.\n\n"
      "A fit is a line t = alpha + beta n where that explains the times, else a curve by points: "
      "then "
      "alpha is the time of no units, and beta that of one more beyond the largest size. Rows far "
      "from those beside them are left out; outliers counts them. The errors are standard errors. "
      "verdict is \"good\", or says what is wrong with the fit. Sizes of --at are the bytes of the "
      "benchmark, and there are none of products.\n\n" +
          parts_in_words());
  command->callback([&, command] {
    if (arguments.judged.empty() && command->get_option("--db")->empty())
      throw CLI::RequiredError("--db");
    action = [&](int argc, char** argv) {
      return arguments.judged.empty() ? fit(arguments, argc, argv) : judge(arguments);
    };
  });
}

}  // namespace tuner
