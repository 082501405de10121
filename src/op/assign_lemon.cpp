/* op/assign_lemon.cpp: see assign_lemon.h. The only C++ of the room; nothing outlives a call.                                   */
#define LEMON_ONLY_TEMPLATES /* its library holds only what needs linear-programming solvers */
#include "op/assign_lemon.h"
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>
#include <utility>
#include <vector>

typedef lemon::StaticDigraph graph;
typedef lemon::NetworkSimplex<graph, int, int64_t> simplex;

/* Nodes: left, right, sink. Arcs by their left node, as StaticDigraph wants them: the pairs of a left node and then its way to nobody; then right to sink. */
static bool solve(uint32_t n_left, uint32_t n_right, const wr_assign_arc *arcs, uint32_t n_arcs, int64_t nobody, uint32_t *right_of) {
    int                              sink = (int)(n_left + n_right);
    std::vector<std::pair<int, int>> ends;
    std::vector<int64_t>             costs;
    std::vector<uint32_t>            pair_of;
    uint32_t                         at = 0;
    for (uint32_t l = 0; l < n_left; l++) {
        for (; at < n_arcs && arcs[at].left == l; at++) {
            ends.push_back({(int)l, (int)(n_left + arcs[at].right)});
            costs.push_back(arcs[at].cost);
            pair_of.push_back(at);
        }
        ends.push_back({(int)l, sink});
        costs.push_back(nobody);
        pair_of.push_back(UINT32_MAX);
    }
    if (at != n_arcs) return false; /* not sorted */
    for (uint32_t r = 0; r < n_right; r++) {
        ends.push_back({(int)(n_left + r), sink});
        costs.push_back(0);
        pair_of.push_back(UINT32_MAX);
    }
    graph g;
    g.build(sink + 1, ends.begin(), ends.end());
    graph::ArcMap<int64_t> cost(g);
    graph::ArcMap<int>     room(g, 1);
    graph::NodeMap<int>    supply(g, 0);
    for (size_t i = 0; i < ends.size(); i++) cost[g.arc((int)i)] = costs[i];
    for (uint32_t l = 0; l < n_left; l++) supply[g.node((int)l)] = 1;
    supply[g.node(sink)] = -(int)n_left;
    simplex s(g);
    s.upperMap(room).costMap(cost).supplyMap(supply);
    if (s.run() != simplex::OPTIMAL) return false;
    for (uint32_t l = 0; l < n_left; l++) right_of[l] = UINT32_MAX;
    for (size_t i = 0; i < ends.size(); i++)
        if (pair_of[i] != UINT32_MAX && s.flow(g.arc((int)i)) > 0) right_of[arcs[pair_of[i]].left] = arcs[pair_of[i]].right;
    return true;
}

extern "C" bool wr_assign_lemon(uint32_t n_left, uint32_t n_right, const wr_assign_arc *arcs, uint32_t n_arcs, int64_t nobody, uint32_t *right_of) {
    try {
        return solve(n_left, n_right, arcs, n_arcs, nobody, right_of);
    } catch (...) {
        return false;
    }
}
