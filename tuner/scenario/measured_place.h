#pragma once

#include <string>
#include <vector>

#include "db/connection.h"
#include "db/network.h"
#include "db/records.h"

/// Where figures were measured. Figures of two machines or two networks are never one figure.
namespace tuner {

/// A text is empty, and a number 0, where it is not known. What is not known differs from nothing.
struct MeasuredPlace {
  std::string host;  ///< of the first rank
  std::string cpu;
  int cores = 0;
  std::string gpu;
  std::string network;   ///< db/network.h
  int nodes = 0;         ///< the network of one node does not matter, but for that of a box
  std::string revision;  ///< of the build
};

/// Where a run measured. Throws db::Error where it is not stored.
MeasuredPlace place_of_run(const db::Connection& connection, std::int64_t run_id);
MeasuredPlace place_of(const db::Machine& machine, const db::Run& run, int nodes);
/// Where this process runs, which may be on several nodes.
MeasuredPlace this_place(const db::Machine& machine,
                         const std::string& network = db::this_network());

/// Whether all that is known of both machines is the same. Their names do not matter, as those of
/// the nodes of a cluster do not.
bool is_same_machine(const MeasuredPlace& a, const MeasuredPlace& b);

/// What makes figures of `there` no figures of `here`, with both values: "network box 0.3 Gbit/s,
/// here box 1 Gbit/s". What is not known of a machine is no difference.
std::vector<std::string> differences(const MeasuredPlace& there, const MeasuredPlace& here);
/// "2 nodes, here 1"; "" where as many are known, or none.
std::string other_nodes(const MeasuredPlace& there, const MeasuredPlace& here);
/// "build 1234abc, here 5678def"; "" where the build is the same or not known.
std::string other_build(const MeasuredPlace& there, const MeasuredPlace& here);

/// "node0 (a processor, 4 cores; box 0.3 Gbit/s)"
std::string text_of(const MeasuredPlace& place);

/// Different places, each as the first of those that are one, with the most nodes of them.
struct DistinctPlaces {
  std::vector<MeasuredPlace> places;
  std::vector<std::size_t> number_of;  ///< [measured]: its place
};
/// Two are one place where machine and network are the same, both known or neither: what is not
/// known may be any of several. Networks of one node (but that of a box) are one, too.
DistinctPlaces distinct_places(const std::vector<MeasuredPlace>& measured);

/// The place that is meant, of those that a database has measurements of: its number. It is the one
/// whose text has `asked` in it; where nothing is asked, the only one there is, or the only one that is
/// here, or else the only one of these of which all that is known here is the same. Throws
/// moe::InputError, with all of them and how to choose, where none or several are meant. There is
/// one or more.
std::size_t chosen_place(const std::vector<MeasuredPlace>& places, const std::string& asked,
                         const MeasuredPlace& here, const std::string& database);

/// Says, for a person, that `what` was measured elsewhere or with another build; "" where it was
/// measured here.
std::string measured_elsewhere(const std::string& what, const MeasuredPlace& there,
                               const MeasuredPlace& here);

}  // namespace tuner
