#include "moe/command/conversion.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "db/console/folder_name.h"
#include "db/console/format_rows.h"
#include "db/console/options.h"
#include "db/console/run_program.h"
#include "moe/errors.h"
#include "moe/input/setting.h"
#include "moe/model/model.h"
#include "moe/source_tree.h"
#include "moe/train/hugging_face/export.h"
#include "moe/train/hugging_face/import.h"

namespace moe {
namespace {

namespace options = db::options;

constexpr const char* kExport = "export";
constexpr const char* kImport = "import";

struct Arguments {
  std::filesystem::path checkpoint, folder;
  std::string family, model;
  std::vector<std::string> settings;
  bool drop_nothing = false;
};

std::vector<std::string> family_names() { return {kFamilyNames.begin(), kFamilyNames.end()}; }

int do_export(const Arguments& arguments) {
  ExportOptions to{arguments.checkpoint, arguments.folder, std::nullopt, arguments.drop_nothing};
  const auto named = std::ranges::find(kFamilyNames, arguments.family);
  if (named != kFamilyNames.end()) to.family = static_cast<Family>(named - kFamilyNames.begin());
  const ExportReport report = export_checkpoint(to);
  spdlog::info("{}: class {}, {} tensors, {}, of iteration {}", arguments.folder.string(),
               name_of(report.family), report.tensors, db::format_cell("bytes", report.bytes),
               report.iteration);
  return 0;
}

std::string amounts_of(const ImportProgress& done) {
  return fmt::format("{} read, {} written in {}", db::format_cell("bytes", done.bytes_read),
                     db::format_cell("bytes", done.bytes_written),
                     db::format_cell("duration_s", done.duration_s));
}

int do_import(const Arguments& arguments) {
  const Model base = load_model(
      find_input(arguments.model, source_tree() / "experiments" / "models"), arguments.settings);
  const auto settings = parse_settings(arguments.settings);
  const bool asks_for_capacity =
      std::ranges::find(settings, "moe.capacity_factor", key_of) != settings.end();
  ImportOptions from{arguments.folder, base, arguments.checkpoint, asks_for_capacity};
  from.progress = [](const ImportProgress& one) {
    spdlog::info("{} of {} files of the checkpoint are complete, {}: {}", one.files, one.of_files,
                 db::format_cell("bytes", one.bytes_complete), amounts_of(one));
  };
  const ImportReport report = import_parameters(from);
  for (const std::string& remark : report.remarks) spdlog::info(remark);
  spdlog::info("{}: class {}, {} parameters, {}; train with --model {} --checkpoint {} --resume",
               arguments.folder.string(), name_of(report.family), report.parameters,
               amounts_of(report.done), report.model_file.string(), arguments.checkpoint.string());
  return 0;
}

void declare_export(CLI::App& app, Arguments& arguments, std::function<int()>& work) {
  CLI::App* command = app.add_subcommand(
      kExport, "Writes the parameters of a checkpoint as the library transformers loads them.");
  command
      ->add_option("CHECKPOINT", arguments.checkpoint,
                   "a folder that moe-train --checkpoint wrote; of several in it, the last")
      ->required();
  command
      ->add_option("-o,--output", arguments.folder,
                   "a new folder for config.json and model.safetensors")
      ->required()
      ->check(options::folder_name())
      ->type_name("DIR");
  command
      ->add_option("--as", arguments.family,
                   "the class to write: mixtral, qwen2_moe or glm4_moe [default: the first that "
                   "fits]")
      ->check(options::one_of(family_names()))
      ->type_name("CLASS");
  command->add_flag("--drop-nothing", arguments.drop_nothing,
                    "leave out the capacity of experts, which no class has: copies that were "
                    "dropped here reach their experts there");
  options::set_footer(*command, "moe-train export run -o hf");
  command->callback([&arguments, &work] { work = [&arguments] { return do_export(arguments); }; });
}

void declare_import(CLI::App& app, Arguments& arguments, std::function<int()>& work) {
  CLI::App* command = app.add_subcommand(
      kImport,
      "Writes a checkpoint of iteration 0 with the parameters of a model of the library "
      "transformers, and a model file to train it with. One that was ended goes on where it was "
      "when it is given again.");
  command
      ->add_option("FOLDER", arguments.folder,
                   "a folder with config.json and model.safetensors, or several files and their "
                   "index")
      ->required();
  command
      ->add_option("--checkpoint", arguments.checkpoint,
                   "the folder for the checkpoint and model.toml")
      ->required()
      ->check(options::folder_name())
      ->type_name("DIR");
  command
      ->add_option("--model", arguments.model,
                   "take what config.json does not say from this model: sequence length, batch, "
                   "optimizer")
      ->required()
      ->type_name("NAME|FILE");
  options::add_settings(*command, arguments.settings,
                        "another value for a key of that model; may come several times");
  options::set_footer(
      *command,
      "moe-train import hf --model tiny --checkpoint run\n"
      "moe-train --model run/model.toml --checkpoint run --resume --data corpus/*.txt");
  command->callback([&arguments, &work] { work = [&arguments] { return do_import(arguments); }; });
}

}  // namespace

bool is_conversion(std::string_view word) { return word == kExport || word == kImport; }

int run_conversion(int argc, char** argv) {
  CLI::App app("Checkpoints to and from folders of the library transformers.", "moe-train");
  options::set_up_program(app,
                          "moe-train export run -o hf\n"
                          "moe-train import hf --model tiny --checkpoint run");
  app.require_subcommand(1);
  Arguments arguments;
  std::function<int()> work;
  declare_export(app, arguments, work);
  declare_import(app, arguments, work);
  return db::run_program(
      app, argc, argv, [&] { return work(); }, exit_code);
}

}  // namespace moe
