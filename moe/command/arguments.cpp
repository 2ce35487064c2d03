#include "moe/command/arguments.h"

#include <CLI/CLI.hpp>

#include "db/console/folder_name.h"
#include "moe/rows/layout.h"

namespace moe {
namespace {

namespace options = db::options;

const char* const kExamples =
    "moe-train --model tiny --steps 300\n"
    "moe-train --model box-small --ranks 4 --planner pipemoe --cluster box\n"
    "moe-tune plan --model tiny --ranks 4 --cluster box --planner tutel:2 -o s.json\n"
    "moe-train --model tiny --ranks 4 --schedule s.json --db results.db\n"
    "moe-train --model tiny --device cuda --ranks-in-process 4 --ranks-per-node 2\n"
    "moe-train --model tiny --data corpus/*.txt --format csv > losses.csv\n"
    "moe-train --model tiny --steps 9000 --checkpoint run --resume\n"
    "moe-train export run -o hf          # for the library transformers; --help\n"
    "moe-train import hf --model tiny --checkpoint run";

CLI::Validator iterations(int least) { return options::whole_number(least, kMostIterations); }

void declare_model(CLI::App& app, TrainArguments& a) {
  const char* const group = "Model";
  app.add_option(
         "--model", a.model,
         "the model: a name in experiments/models, a TOML file with the keys that --list keys "
         "prints, or a config.json of the library transformers")
      ->required()
      ->type_name("NAME|FILE")
      ->group(group);
  options::add_settings(app, a.settings,
                        "another value for a key of the model, as in moe.experts=64; may come "
                        "several times");
  app.get_option("--set")->group(group);
}

void declare_data(CLI::App& app, TrainArguments& a) {
  const char* const group = "Data";
  auto* data =
      app.add_option(
             "--data", a.data,
             "what to train on: text, JSON lines, .npy, or .bin files of tokens as nanoGPT, "
             "llm.c and Megatron-LM write them, also packed by gzip; FILE:WEIGHT says how often a "
             "file is drawn, relative to the others [default: the text of this repository]")
          ->type_name("FILE[:WEIGHT]")
          ->group(group);
  app.add_option("--data-order", a.data_order,
                 "shuffled: every epoch has each sequence of a file once; in_order: the same, one "
                 "after the other as the file has them; random: samples begin anywhere [default: "
                 "shuffled with --data, else random]")
      ->check(options::one_of({"shuffled", "in_order", "random"}))
      ->type_name("ORDER")
      ->group(group);
  app.add_option("--token-bits", a.token_bits,
                 "bits of a token in .bin files that have neither header nor index: 16 or 32 "
                 "[default: 16, or 32 where the vocabulary is over 65536]")
      ->check(options::one_of({"16", "32"}))
      ->needs(data)
      ->type_name("BITS")
      ->group(group);
  app.add_flag("--overfit-batch", a.overfit_batch,
               "train on the batch of the first iteration again and again; the loss of a correct "
               "model falls to nearly 0")
      ->group(group);
  app.add_option(
         "--evaluate-every", a.evaluate_every,
         "compute the held-out loss every N iterations; 0: only after the last [default: 0]")
      ->check(iterations(0))
      ->type_name("N")
      ->group(group);
  app.add_option("--evaluate-batches", a.evaluate_batches,
                 "how many batches a held-out loss is the mean of; 0: no held-out loss")
      ->capture_default_str()
      ->check(iterations(0))
      ->type_name("N")
      ->group(group);
  app.add_flag("--evaluate-only", a.evaluate_only,
               "compute the held-out loss of a checkpoint's parameters (with --resume) or of the "
               "initial ones, and end")
      ->group(group);
  auto* sample = app.add_option("--sample", a.sample,
                                "let the model write N tokens at the end; where the data are token "
                                "files, their numbers are printed")
                     ->check(iterations(0))
                     ->type_name("N")
                     ->group(group);
  app.add_option("--prompt", a.prompt,
                 "the text that the model continues, or numbers of tokens where the data are token "
                 "files [default: a line feed, or token 0]")
      ->needs(sample)
      ->type_name("TEXT")
      ->group(group);
  app.add_option(
         "--temperature", a.temperature,
         "divide the logits by this before a token is drawn; 0 always takes the most probable "
         "token")
      ->capture_default_str()
      ->check(options::number_from_zero())
      ->needs(sample)
      ->type_name("T")
      ->group(group);
}

void declare_optimizer(CLI::App& app, TrainArguments& a) {
  const char* const group = "Optimizer (its keys: --set training.optimizer=adamw, --list keys)";
  app.add_option(
         "--steps", a.steps,
         "how many iterations to train; with --resume, those before the checkpoint count too")
      ->capture_default_str()
      ->check(iterations(1))
      ->type_name("N")
      ->group(group);
  app.add_option("--seed", a.seed, "use this seed instead of the model's")
      ->check(options::whole_number(0))
      ->type_name("N")
      ->group(group);
}

void declare_machine(CLI::App& app, TrainArguments& a) {
  const char* const group = "Machine";
  app.add_option("--ranks", a.ranks,
                 "how many ranks train; outside an MPI job, mpirun is started for more than one "
                 "[default: 1, or the ranks of the job, or the slots of --hostfile, or the tasks "
                 "of a Slurm allocation]")
      ->check(options::whole_number(1, options::kMostRanks))
      ->type_name("N")
      ->group(group);
  options::add_launcher(app, a.launcher, group);
  options::add_in_process(app, a.in_process, group);
  app.add_option("--layout", a.layout, kLayoutHelp)->type_name("LAYOUT")->group(group);
  options::add_device(app, a.device, "where to compute");
  app.get_option("--device")->group(group);
  app.add_option("--threads", a.threads,
                 "how many CPU threads a rank computes with [default: OMP_NUM_THREADS, or the "
                 "cores divided by the ranks]")
      ->check(options::whole_number(1, options::kMostThreads))
      ->type_name("N")
      ->group(group);
  app.add_option("--memory-limit", a.memory_limit_bytes,
                 "how much memory the tensors of a rank may take: bytes, or with K, M, G or T")
      ->transform(options::size_in_bytes())
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--time-limit", a.time_limit_s,
                 "how many seconds a rank waits for others before the job ends")
      ->capture_default_str()
      ->check(options::seconds())
      ->type_name("S")
      ->group(group);
  app.add_option("--copy-gbps", a.copy_gbps,
                 "with --device cpu: how many Gbit/s the link carries to the second memory that a "
                 "schedule may offload to; copies sleep until it would have carried them; 0: as "
                 "fast as memory is")
      ->capture_default_str()
      ->check(options::gigabits_per_second())
      ->type_name("GBPS")
      ->group(group);
  app.add_flag("--check-each-op", a.check_each_op,
               "wait after each op until it has ended, so that an error of a GPU names the op; "
               "nothing overlaps then")
      ->group(group);
}

void declare_schedule(CLI::App& app, TrainArguments& a) {
  const char* const group = "Schedule";
  auto* schedule = app.add_option("--schedule", a.schedules,
                                  "train under the schedule in this JSON file, or in those on "
                                  "stdin, one a line, where it is -; several take turns, "
                                  "an iteration each, and --steps counts the iterations of each "
                                  "[default: one stream, nothing overlaps]")
                       ->type_name("FILE")
                       ->group(group);
  auto* cluster = app.add_option("--cluster", a.cluster,
                                 "what --planner plans for: a name in experiments/clusters, a "
                                 "TOML file, or measured, which takes what --db holds "
                                 "(measured:TEXT: of several networks, the one called so)")
                      ->type_name("NAME|FILE")
                      ->group(group);
  app.add_option("--planner", a.planner,
                 "train under the schedule that this planner makes, as moe-tune plan does")
      ->excludes(schedule)
      ->needs(cluster)
      ->check(options::not_empty())
      ->type_name("PLANNER")
      ->group(group);
  cluster->needs("--planner");
  app.add_option("--plan-every", a.plan_every,
                 "plan again every N iterations, from the routing of the last one; 0: plan once, "
                 "for even routing, before the first iteration")
      ->capture_default_str()
      ->check(iterations(0))
      ->needs("--planner")
      ->type_name("N")
      ->group(group);
  app.add_flag("--plan-beside", a.plan_beside,
               "plan on a thread of its own while the next iteration runs; the new schedule is in "
               "force from the iteration after that one on")
      ->needs("--plan-every")
      ->group(group);
  app.add_option("--micro-profile-steps", a.micro_profile_steps,
                 "let mpmoe_pb choose by micro-profiles, runs of N iterations within this "
                 "training; 0: it chooses by simulation")
      ->capture_default_str()
      ->check(iterations(0))
      ->needs("--planner")
      ->excludes("--plan-every")
      ->type_name("N")
      ->group(group);
  app.add_flag("--print-program{scheduled}", a.print_program,
               "print the scheduled ops and end; with --print-program=passes also after every "
               "decision")
      ->check(options::one_of({"scheduled", "passes"}))
      ->group(group);
}

void declare_checkpoints(CLI::App& app, TrainArguments& a) {
  const char* const group = "Checkpoints";
  auto* folder = app.add_option("--checkpoint", a.checkpoint,
                                "write checkpoints to this folder, which every rank sees: after "
                                "the last iteration, and when a signal ends the training")
                     ->check(options::folder_name())
                     ->type_name("DIR")
                     ->group(group);
  app.add_option("--checkpoint-every", a.checkpoint_every,
                 "write one every N iterations too, while training goes on; 0: only at the end")
      ->capture_default_str()
      ->check(iterations(0))
      ->needs(folder)
      ->type_name("N")
      ->group(group);
  app.add_option("--keep", a.keep, "keep the last K checkpoints; 0: all of them")
      ->capture_default_str()
      ->check(options::whole_number(0, 1000))
      ->needs(folder)
      ->type_name("K")
      ->group(group);
  app.add_flag("--resume", a.resume,
               "go on from the last checkpoint in that folder, on any ranks and layout; begin anew "
               "where there is none")
      ->needs(folder)
      ->group(group);
}

void declare_results(CLI::App& app, TrainArguments& a) {
  options::add_database(app, a.database,
                        "store the run in this database, which is created where there is none");
  app.get_option("--db")->group("Output");
  app.add_option("--timelines", a.timelines,
                 "how many iterations have their timeline stored: those of typical duration")
      ->capture_default_str()
      ->check(options::whole_number(0, 1000))
      ->type_name("N")
      ->group("Output");
  app.add_option("--loads-every", a.loads_every,
                 "store the loads of experts and ranks every N iterations; 0: only with a "
                 "timeline [default: as often as makes a million rows]")
      ->check(iterations(0))
      ->type_name("N")
      ->group("Output");
  app.add_option("--log-every", a.log_every, "print a row of the table every N iterations")
      ->capture_default_str()
      ->check(iterations(1))
      ->type_name("N")
      ->group("Output");
  app.add_option("--log", a.log,
                 "add a line of JSON for every iteration to this file: losses, learning rate, norm "
                 "of the gradients, times, memory")
      ->check(options::not_empty())
      ->type_name("FILE")
      ->group("Output");
  app.add_option(
         "--balanced-steps", a.balanced_steps,
         "after the last iteration, time N ordinary steps and N with even routing in turns, "
         "and print which share of the throughput of even routing ordinary steps reach "
         "[default: 2 where the schedule shares rows out after the gate, else 0]")
      ->check(iterations(0))
      ->type_name("N")
      ->group("Output");
  options::add_output(app, a.output);
}

}  // namespace

void declare(CLI::App& app, TrainArguments& arguments) {
  options::set_up_program(app, kExamples,
                          "A table and JSON have a summary at the end; CSV has a row for every\n"
                          "iteration. JSON is the summary alone.");
  declare_model(app, arguments);
  declare_data(app, arguments);
  declare_optimizer(app, arguments);
  declare_schedule(app, arguments);
  declare_checkpoints(app, arguments);
  declare_machine(app, arguments);
  declare_results(app, arguments);
}

}  // namespace moe
