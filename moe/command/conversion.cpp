#include "moe/command/conversion.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/console/folder_name.h"
#include "db/console/format_rows.h"
#include "db/console/options.h"
#include "db/console/run_program.h"
#include "moe/errors.h"
#include "moe/model/model_toml.h"
#include "moe/model/published/read_config.h"
#include "moe/source_tree.h"
#include "moe/train/checkpoint/written_file.h"
#include "moe/train/hugging_face/export.h"
#include "moe/train/hugging_face/import.h"

namespace moe {
namespace {

namespace options = db::options;

constexpr const char* kExport = "export";
constexpr const char* kImport = "import";

struct Arguments {
  std::filesystem::path checkpoint, folder, output;
  std::string family, model;
  std::vector<std::string> settings;
  bool drop_nothing = false;
};

/// Those whose parameters are read and written.
std::vector<std::string> names_of_written_classes() {
  std::vector<std::string> names;
  for (const PublishedClass& of : published_classes()) {
    if (of.tensors != nullptr) names.emplace_back(of.name);
  }
  return names;
}

int do_export(const Arguments& arguments) {
  ExportOptions to{arguments.checkpoint, arguments.folder, nullptr, arguments.drop_nothing};
  for (const PublishedClass& of : published_classes()) {
    if (of.name == arguments.family) to.as = &of;
  }
  const ExportReport report = export_checkpoint(to);
  spdlog::info("{}: class {}, {} tensors, {}, of iteration {}", arguments.folder.string(),
               report.of->name, report.tensors, db::format_cell("bytes", report.bytes),
               report.iteration);
  return 0;
}

std::string amounts_of(const ImportProgress& done) {
  return fmt::format("{} read, {} written in {}", db::format_cell("bytes", done.bytes_read),
                     db::format_cell("bytes", done.bytes_written),
                     db::format_cell("duration_s", done.duration_s));
}

Model base_model(const Arguments& arguments) {
  return load_model(find_input(arguments.model, source_tree() / "experiments" / "models"));
}

/// Only the model file.
int do_import_model(const Arguments& arguments) {
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(arguments.output, none))) {
    throw InputError(fmt::format("{}: exists already: expected the name of a new file",
                                 arguments.output.string()));
  }
  std::optional<Model> base;
  if (!arguments.model.empty()) base = base_model(arguments);
  const ConfiguredModel configured = read_config(arguments.folder, base);
  const Model model = load_model(configured.model, arguments.folder.string(), arguments.settings);
  for (const std::string& line : said_of(configured)) spdlog::info(line);
  spdlog::info("{}: {}: {}", arguments.output.string(),
               base ? "of --model and --set" : "chosen here, unless --model or --set say otherwise",
               training_text(model));
  write_text(arguments.output, to_toml(model), "model");
  spdlog::info("{}: class {}, {} parameters; plan with moe-tune simulate --model {}",
               arguments.output.string(), configured.of->name,
               published_parameters(model, *configured.of), arguments.output.string());
  return 0;
}

int do_import(const Arguments& arguments) {
  if (!arguments.output.empty()) return do_import_model(arguments);
  if (arguments.checkpoint.empty() || arguments.model.empty()) {
    throw InputError(
        fmt::format("import {}: expected -o MODEL.toml for the model file alone, or "
                    "--checkpoint DIR and --model for parameters too",
                    arguments.folder.string()));
  }
  ImportOptions from{arguments.folder, base_model(arguments), arguments.checkpoint,
                     arguments.settings};
  from.progress = [](const ImportProgress& one) {
    spdlog::info("{} of {} files of the checkpoint are complete, {}: {}", one.files, one.of_files,
                 db::format_cell("bytes", one.bytes_complete), amounts_of(one));
  };
  const ImportReport report = import_parameters(from);
  for (const std::string& remark : report.remarks) spdlog::info(remark);
  spdlog::info("{}: class {}, {} parameters, {}; train with --model {} --checkpoint {} --resume",
               arguments.folder.string(), report.of->name, report.parameters,
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
                   "the class to write, by its model_type [default: the first that fits]")
      ->check(options::one_of(names_of_written_classes()))
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
      "Writes the model file of a config.json of the library transformers; with --checkpoint a "
      "checkpoint of iteration 0 with its parameters too. One that was ended goes on where it was "
      "when it is given again.");
  command
      ->add_option("CONFIG", arguments.folder,
                   "a config.json, or a folder with one; for parameters a folder that has "
                   "model.safetensors too, or several files and their index")
      ->required();
  command->add_option("-o,--output", arguments.output, "the new model file, without parameters")
      ->excludes(command
                     ->add_option("--checkpoint", arguments.checkpoint,
                                  "the folder for the checkpoint and model.toml")
                     ->check(options::folder_name())
                     ->type_name("DIR"))
      ->type_name("FILE.toml");
  command
      ->add_option("--model", arguments.model,
                   "take what config.json does not say from this model: sequence length, batch, "
                   "optimizer")
      ->type_name("NAME|FILE");
  options::add_settings(*command, arguments.settings,
                        "another value for a key of the model; may come several times");
  options::set_footer(
      *command,
      "moe-train import config.json -o model.toml\n"
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
