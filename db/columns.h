#pragma once

#include <string>
#include <tuple>
#include <utility>

#include "db/column.h"
#include "db/measurement_samples.h"
#include "db/records.h"
#include "db/run_links.h"
#include "db/run_products.h"
#include "db/timeline_columns.h"

/// The one place that says which struct of records.h is which table, and which field which column.
/// Reading and writing are generated from it; a test compares it with schema.sql and timelines.sql.
namespace db {

template <>
struct Table<Machine> {
  static constexpr const char* name = "machine";
  static constexpr std::tuple columns{Column{"id", &Machine::id},
                                      Column{"fingerprint", &Machine::fingerprint},
                                      Column{"hostname", &Machine::hostname},
                                      Column{"os", &Machine::os},
                                      Column{"cpu", &Machine::cpu},
                                      Column{"cores", &Machine::cores},
                                      Column{"memory_bytes", &Machine::memory_bytes},
                                      Column{"gpu", &Machine::gpu},
                                      Column{"gpu_count", &Machine::gpu_count},
                                      Column{"libraries_json", &Machine::libraries_json}};
};

template <>
struct Table<Run> {
  static constexpr const char* name = "run";
  static constexpr std::tuple columns{Column{"id", &Run::id},
                                      Column{"machine_id", &Run::machine_id},
                                      Column{"kind", &Run::kind},
                                      Column{"name", &Run::name},
                                      Column{"status", &Run::status},
                                      Column{"error", &Run::error},
                                      Column{"started_at", &Run::started_at},
                                      Column{"finished_at", &Run::finished_at},
                                      Column{"heartbeat_at", &Run::heartbeat_at},
                                      Column{"pid", &Run::pid},
                                      Column{"revision", &Run::revision},
                                      Column{"argv_json", &Run::argv_json},
                                      Column{"environment_json", &Run::environment_json},
                                      Column{"device", &Run::device},
                                      Column{"ranks", &Run::ranks},
                                      Column{"layout", &Run::layout},
                                      Column{"model_json", &Run::model_json},
                                      Column{"cluster_json", &Run::cluster_json},
                                      Column{"schedule_id", &Run::schedule_id},
                                      Column{"planner", &Run::planner},
                                      Column{"seed", &Run::seed},
                                      Column{"network", &Run::network},
                                      Column{"peak_flops_per_s", &Run::peak_flops_per_s},
                                      Column{"balanced_share", &Run::balanced_share},
                                      Column{"resumes_run_id", &Run::resumes_run_id}};
};

template <>
struct Table<RunRank> {
  static constexpr const char* name = "run_rank";
  static constexpr std::tuple columns{
      Column{"run_id", &RunRank::run_id},
      Column{"rank", &RunRank::rank},
      Column{"hostname", &RunRank::hostname},
      Column{"node", &RunRank::node},
      Column{"core_set", &RunRank::core_set},
      Column{"cores", &RunRank::cores},
      Column{"threads", &RunRank::threads},
      Column{"pid", &RunRank::pid},
      Column{"clock_offset_s", &RunRank::clock_offset_s},
      Column{"clock_error_s", &RunRank::clock_error_s},
      Column{"predicted_peak_bytes", &RunRank::predicted_peak_bytes},
      Column{"measured_peak_bytes", &RunRank::measured_peak_bytes},
      Column{"share_of_others", &RunRank::share_of_others}};
};

template <>
struct Table<RunLink> {
  static constexpr const char* name = "run_link";
  static constexpr std::tuple columns{
      Column{"run_id", &RunLink::run_id},
      Column{"from_rank", &RunLink::from_rank},
      Column{"to_rank", &RunLink::to_rank},
      Column{"transfers", &RunLink::transfers},
      Column{"bytes", &RunLink::bytes},
      Column{"busy_s", &RunLink::busy_s},
      Column{"bandwidth_bytes_per_s", &RunLink::bandwidth_bytes_per_s},
      Column{"relative_error", &RunLink::relative_error}};
};

template <>
struct Table<RunProduct> {
  static constexpr const char* name = "run_product";
  static constexpr std::tuple columns{
      Column{"run_id", &RunProduct::run_id},         Column{"library", &RunProduct::library},
      Column{"product", &RunProduct::product},       Column{"algorithm", &RunProduct::algorithm},
      Column{"duration_s", &RunProduct::duration_s}, Column{"unasked_s", &RunProduct::unasked_s}};
};

template <>
struct Table<Schedule> {
  static constexpr const char* name = "schedule";
  static constexpr std::tuple columns{Column{"id", &Schedule::id}, Column{"hash", &Schedule::hash},
                                      Column{"planner", &Schedule::planner},
                                      Column{"json", &Schedule::json},
                                      Column{"changes_results", &Schedule::changes_results}};
};

template <>
struct Table<Iteration> {
  static constexpr const char* name = "iteration";
  static constexpr std::tuple columns{
      Column{"run_id", &Iteration::run_id},
      Column{"iteration", &Iteration::iteration},
      Column{"loss", &Iteration::loss, NotFinite::is_null},
      Column{"auxiliary_loss", &Iteration::auxiliary_loss, NotFinite::is_null},
      Column{"heldout_loss", &Iteration::heldout_loss, NotFinite::is_null},
      Column{"duration_s", &Iteration::duration_s},
      Column{"tokens", &Iteration::tokens},
      Column{"dropped_tokens", &Iteration::dropped_tokens},
      Column{"schedule_id", &Iteration::schedule_id},
      Column{"z_loss", &Iteration::z_loss, NotFinite::is_null},
      Column{"learning_rate", &Iteration::learning_rate},
      Column{"gradient_norm", &Iteration::gradient_norm, NotFinite::is_null},
      Column{"flops", &Iteration::flops},
      Column{"exposed_s", &Iteration::exposed_s},
      Column{"exposed_waiting_s", &Iteration::exposed_waiting_s},
      Column{"exposed_bubble_s", &Iteration::exposed_bubble_s}};
};

template <>
struct Table<Load> {
  static constexpr const char* name = "load";
  static constexpr std::tuple columns{Column{"run_id", &Load::run_id},
                                      Column{"iteration", &Load::iteration},
                                      Column{"layer", &Load::layer},
                                      Column{"rank", &Load::rank},
                                      Column{"expert", &Load::expert},
                                      Column{"tokens", &Load::tokens},
                                      Column{"asked_tokens", &Load::asked_tokens},
                                      Column{"micro_batch", &Load::micro_batch}};
};

template <>
struct Table<Balance> {
  static constexpr const char* name = "balance";
  static constexpr std::tuple columns{
      Column{"run_id", &Balance::run_id},
      Column{"iteration", &Balance::iteration},
      Column{"layer", &Balance::layer},
      Column{"experts", &Balance::experts},
      Column{"unused_experts", &Balance::unused_experts},
      Column{"tokens", &Balance::tokens},
      Column{"dropped_tokens", &Balance::dropped_tokens},
      Column{"max_tokens", &Balance::max_tokens},
      Column{"standard_deviation", &Balance::standard_deviation},
      Column{"max_rank_tokens", &Balance::max_rank_tokens},
      Column{"mean_rank_tokens", &Balance::mean_rank_tokens},
      Column{"rank_standard_deviation", &Balance::rank_standard_deviation},
      Column{"locality", &Balance::locality},
      Column{"placed_max_rank_tokens", &Balance::placed_max_rank_tokens},
      Column{"placed_rank_standard_deviation", &Balance::placed_rank_standard_deviation},
      Column{"max_asked_tokens", &Balance::max_asked_tokens}};
};

template <>
struct Table<RankLoad> {
  static constexpr const char* name = "rank_load";
  static constexpr std::tuple columns{Column{"run_id", &RankLoad::run_id},
                                      Column{"iteration", &RankLoad::iteration},
                                      Column{"layer", &RankLoad::layer},
                                      Column{"rank", &RankLoad::rank},
                                      Column{"tokens", &RankLoad::tokens},
                                      Column{"asked_tokens", &RankLoad::asked_tokens},
                                      Column{"placed_tokens", &RankLoad::placed_tokens}};
};

template <>
struct Table<ExpertPlace> {
  static constexpr const char* name = "expert_place";
  static constexpr std::tuple columns{
      Column{"run_id", &ExpertPlace::run_id}, Column{"iteration", &ExpertPlace::iteration},
      Column{"layer", &ExpertPlace::layer},   Column{"rank", &ExpertPlace::rank},
      Column{"expert", &ExpertPlace::expert}, Column{"replica", &ExpertPlace::replica}};
};

template <>
struct Table<Study> {
  static constexpr const char* name = "study";
  static constexpr std::tuple columns{Column{"id", &Study::id},
                                      Column{"name", &Study::name},
                                      Column{"model_json", &Study::model_json},
                                      Column{"cluster_json", &Study::cluster_json},
                                      Column{"settings_json", &Study::settings_json},
                                      Column{"profile_runs_json", &Study::profile_runs_json},
                                      Column{"cost_model_json", &Study::cost_model_json},
                                      Column{"ranks", &Study::ranks},
                                      Column{"layout", &Study::layout},
                                      Column{"created_at", &Study::created_at},
                                      Column{"refinement_runs_json", &Study::refinement_runs_json},
                                      Column{"part_of", &Study::part_of}};
};

template <>
struct Table<Trial> {
  static constexpr const char* name = "trial";
  static constexpr std::tuple columns{
      Column{"id", &Trial::id},
      Column{"study_id", &Trial::study_id},
      Column{"schedule_id", &Trial::schedule_id},
      Column{"planner", &Trial::planner},
      Column{"parameters_json", &Trial::parameters_json},
      Column{"status", &Trial::status},
      Column{"error", &Trial::error},
      Column{"paper_s", &Trial::paper_s},
      Column{"predicted_s", &Trial::predicted_s},
      Column{"measured_s", &Trial::measured_s},
      Column{"lower_bound_s", &Trial::lower_bound_s},
      Column{"predicted_peak_bytes", &Trial::predicted_peak_bytes},
      Column{"measured_peak_bytes", &Trial::measured_peak_bytes},
      Column{"started_at", &Trial::started_at},
      Column{"finished_at", &Trial::finished_at},
      Column{"heartbeat_at", &Trial::heartbeat_at},
      Column{"predicted_deviation_s", &Trial::predicted_deviation_s},
      Column{"also_planned_by", &Trial::also_planned_by},
      Column{"first_predicted_s", &Trial::first_predicted_s},
      Column{"tied_with", &Trial::tied_with},
      Column{"least_speedup", &Trial::least_speedup},
      Column{"most_speedup", &Trial::most_speedup},
      Column{"bounded_by", &Trial::bounded_by},
      Column{"failure", &Trial::failure}};
};

template <>
struct Table<StudyCosts> {
  static constexpr const char* name = "study_costs";
  static constexpr std::tuple columns{Column{"study_id", &StudyCosts::study_id},
                                      Column{"refinement", &StudyCosts::refinement},
                                      Column{"cost_model_json", &StudyCosts::cost_model_json}};
};

template <>
struct Table<PredictionQuality> {
  static constexpr const char* name = "prediction_quality";
  static constexpr std::tuple columns{
      Column{"study_id", &PredictionQuality::study_id},
      Column{"trials", &PredictionQuality::trials},
      Column{"mean_error", &PredictionQuality::mean_error},
      Column{"worst_error", &PredictionQuality::worst_error},
      Column{"common_error", &PredictionQuality::common_error},
      Column{"common_share", &PredictionQuality::common_share},
      Column{"kendall_tau", &PredictionQuality::kendall_tau},
      Column{"kendall_tau_told_apart", &PredictionQuality::kendall_tau_told_apart},
      Column{"regret", &PredictionQuality::regret},
      Column{"within_deviation", &PredictionQuality::within_deviation}};
};

template <>
struct Table<TrialRepeat> {
  static constexpr const char* name = "trial_repeat";
  static constexpr std::tuple columns{
      Column{"trial_id", &TrialRepeat::trial_id}, Column{"repeat", &TrialRepeat::repeat},
      Column{"run_id", &TrialRepeat::run_id}, Column{"measured_s", &TrialRepeat::measured_s},
      Column{"steps", &TrialRepeat::steps}};
};

template <>
struct Table<Fit> {
  static constexpr const char* name = "fit";
  static constexpr std::tuple columns{Column{"id", &Fit::id},
                                      Column{"run_id", &Fit::run_id},
                                      Column{"op", &Fit::op},
                                      Column{"device", &Fit::device},
                                      Column{"ranks", &Fit::ranks},
                                      Column{"link", &Fit::link},
                                      Column{"alpha_s", &Fit::alpha_s},
                                      Column{"beta_s_per_unit", &Fit::beta_s_per_unit},
                                      Column{"unit", &Fit::unit},
                                      Column{"r2", &Fit::r2},
                                      Column{"samples", &Fit::samples},
                                      Column{"min_units", &Fit::min_units},
                                      Column{"max_units", &Fit::max_units},
                                      Column{"max_relative_residual", &Fit::max_relative_residual},
                                      Column{"relative_deviation", &Fit::relative_deviation},
                                      Column{"machine_id", &Fit::machine_id},
                                      Column{"network", &Fit::network},
                                      Column{"nodes", &Fit::nodes},
                                      Column{"alpha_error_s", &Fit::alpha_error_s},
                                      Column{"beta_error_s_per_unit", &Fit::beta_error_s_per_unit},
                                      Column{"outliers", &Fit::outliers},
                                      Column{"verdict", &Fit::verdict},
                                      Column{"points_json", &Fit::points_json}};
};

template <>
struct Table<Measurement> {
  static constexpr const char* name = "measurement";
  static constexpr std::tuple columns{
      Column{"id", &Measurement::id},
      Column{"run_id", &Measurement::run_id},
      Column{"op", &Measurement::op},
      Column{"device", &Measurement::device},
      Column{"dtype", &Measurement::dtype},
      Column{"ranks", &Measurement::ranks},
      Column{"parameters_json", &Measurement::parameters_json},
      Column{"bytes", &Measurement::bytes},
      Column{"count", &Measurement::count},
      Column{"flops", &Measurement::flops},
      Column{"time_s", &Measurement::time_s},
      Column{"min_s", &Measurement::min_s},
      Column{"max_s", &Measurement::max_s},
      Column{"samples", &Measurement::samples},
      Column{"algorithm_bandwidth_bytes_per_s", &Measurement::algorithm_bandwidth_bytes_per_s},
      Column{"bus_bandwidth_bytes_per_s", &Measurement::bus_bandwidth_bytes_per_s},
      Column{"wrong", &Measurement::wrong},
      Column{"relative_deviation", &Measurement::relative_deviation}};
};

template <>
struct Table<MeasurementSamples> {
  static constexpr const char* name = "measurement_samples";
  static constexpr std::tuple columns{
      Column{"measurement_id", &MeasurementSamples::measurement_id},
      Column{"p95_s", &MeasurementSamples::p95_s},
      Column{"quantiles_json", &MeasurementSamples::quantiles_json}};
};

template <>
struct Table<MeasurementRank> {
  static constexpr const char* name = "measurement_rank";
  static constexpr std::tuple columns{
      Column{"measurement_id", &MeasurementRank::measurement_id},
      Column{"rank", &MeasurementRank::rank}, Column{"time_s", &MeasurementRank::time_s},
      Column{"min_s", &MeasurementRank::min_s}, Column{"max_s", &MeasurementRank::max_s}};
};

template <>
struct Table<PredictedSetup> {
  static constexpr const char* name = "predicted_setup";
  static constexpr std::tuple columns{
      Column{"run_id", &PredictedSetup::run_id},
      Column{"settings", &PredictedSetup::settings},
      Column{"ranks", &PredictedSetup::ranks},
      Column{"place", &PredictedSetup::place},
      Column{"layout", &PredictedSetup::layout},
      Column{"micro_batches", &PredictedSetup::micro_batches},
      Column{"batch_per", &PredictedSetup::batch_per},
      Column{"micro_batch_order", &PredictedSetup::micro_batch_order},
      Column{"planner", &PredictedSetup::planner},
      Column{"schedule_id", &PredictedSetup::schedule_id},
      Column{"shard_optimizer", &PredictedSetup::shard_optimizer},
      Column{"restored_blocks", &PredictedSetup::restored_blocks},
      Column{"whole_blocks", &PredictedSetup::whole_blocks},
      Column{"predicted_s", &PredictedSetup::predicted_s},
      Column{"tokens_per_s", &PredictedSetup::tokens_per_s},
      Column{"peak_share", &PredictedSetup::peak_share},
      Column{"parameter_bytes", &PredictedSetup::parameter_bytes},
      Column{"gradient_bytes", &PredictedSetup::gradient_bytes},
      Column{"optimizer_bytes", &PredictedSetup::optimizer_bytes},
      Column{"activation_bytes", &PredictedSetup::activation_bytes},
      Column{"buffer_bytes", &PredictedSetup::buffer_bytes},
      Column{"predicted_peak_bytes", &PredictedSetup::predicted_peak_bytes},
      Column{"memory_limit_bytes", &PredictedSetup::memory_limit_bytes},
      Column{"lower_bound_s", &PredictedSetup::lower_bound_s},
      Column{"bounded_by", &PredictedSetup::bounded_by}};
};

template <>
struct Table<Figure> {
  static constexpr const char* name = "figure";
  static constexpr std::tuple columns{Column{"run_id", &Figure::run_id},
                                      Column{"paper", &Figure::paper},
                                      Column{"place", &Figure::place},
                                      Column{"setting", &Figure::setting},
                                      Column{"system", &Figure::system},
                                      Column{"quantity", &Figure::quantity},
                                      Column{"paper_value", &Figure::paper_value},
                                      Column{"value", &Figure::value},
                                      Column{"basis", &Figure::basis}};
};

/// "id, run_id, ...": the columns of a table, in the order in which Statement reads and binds them.
template <class Record>
std::string column_list() {
  std::string list;
  std::apply(
      [&](const auto&... column) {
        ((list += list.empty() ? "" : ", ", list += column.name), ...);
      },
      Table<Record>::columns);
  return list;
}

template <class Record>
constexpr int column_count() {
  return static_cast<int>(std::tuple_size_v<decltype(Table<Record>::columns)>);
}

}  // namespace db
