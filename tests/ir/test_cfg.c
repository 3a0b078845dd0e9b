/* Graph analyses against definitions: dominance is "unreachable when the node is taken away", components are
 * mutual reachability, both computed here by plain searches on random graphs.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MAX = 24 };

static uint32_t rnd(uint64_t *s, uint32_t n) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33) % n;
}

/* reach[a][b]: is there a path (of one edge or more) from a to b that does not touch `without`? */
static void reachability(const Graph *graph, uint32_t without, bool reach[MAX][MAX]) {
    for (uint32_t a = 0; a < graph->n; a++)
        for (uint32_t b = 0; b < graph->n; b++)
            reach[a][b] = false;
    for (uint32_t a = 0; a < graph->n; a++)
        if (a != without)
            GRAPH_SUCCS(graph, a, t)
                if (*t != without)
                    reach[a][*t] = true;
    for (uint32_t k = 0; k < graph->n; k++)
        for (uint32_t a = 0; a < graph->n; a++)
            for (uint32_t b = 0; reach[a][k] && b < graph->n; b++)
                reach[a][b] |= reach[k][b];
}

static bool reached(bool reach[MAX][MAX], uint32_t a, uint32_t b) { return a == b || reach[a][b]; }

static Graph random_graph(Arena *a, uint64_t *s, GraphEdge *edges) {
    uint32_t n = 2 + rnd(s, MAX - 2), m = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = rnd(s, 4); e-- > 0 && m < 4 * MAX;)
            edges[m++] = (GraphEdge){k, rnd(s, n)};
    return graph_new(a, n, edges, m);
}

static void test_dominators(void **state) {
    (void)state;
    static bool full[MAX][MAX], cut[MAX][MAX];
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        Arena a = {0};
        uint64_t s = seed;
        GraphEdge edges[4 * MAX];
        Graph g = random_graph(&a, &s, edges);
        DomTree t = dom_tree(&a, &g, GRAPH_FORWARD, 0);
        reachability(&g, NO_NODE, full);
        for (uint32_t x = 0; x < g.n; x++) {
            bool live = reached(full, 0, x);
            assert_int_equal(t.in[x] != 0, live);
            if (!live)
                continue;
            reachability(&g, x, cut);
            Bitset df = bs_new(&a, g.n);
            dom_frontier(&g, &t, x, &df);
            for (uint32_t y = 0; y < g.n; y++) {
                bool dom = reached(full, 0, y) && (x == y || x == 0 || !reached(cut, 0, y));
                assert_int_equal(dom_contains(&t, x, y), dom);
            }
            for (uint32_t y = 0; y < g.n;
                 y++) { /* frontier: dominates a predecessor, not strictly the node */
                bool want = false;
                if (reached(full, 0, y))
                    GRAPH_PREDS(&g, y, p)
                        want |= dom_contains(&t, x, *p) && !(dom_contains(&t, x, y) && x != y);
                assert_int_equal(bs_has(&df, y), want);
            }
            if (x != 0)
                assert_int_equal(t.depth[x], t.depth[t.idom[x]] + 1);
        }
        arena_free(&a);
    }
}

static void test_components_and_loops(void **state) {
    (void)state;
    static bool full[MAX][MAX];
    unsigned irreducible = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        Arena a = {0};
        uint64_t s = seed * 77;
        GraphEdge edges[4 * MAX];
        Graph g = random_graph(&a, &s, edges);
        uint32_t comp[MAX], n = graph_scc(&a, &g, NULL, comp);
        reachability(&g, NO_NODE, full);
        for (uint32_t x = 0; x < g.n; x++) {
            assert_true(comp[x] < n);
            for (uint32_t y = 0; y < g.n; y++)
                assert_int_equal(comp[x] == comp[y], x == y || (full[x][y] && full[y][x]));
            GRAPH_SUCCS(&g, x, t)
                assert_true(comp[*t] <= comp[x]);
        }
        LoopForest l = loop_forest(&a, &g, 0);
        for (uint32_t x = 0; x < g.n; x++) /* in a loop = reachable and on a cycle */
            assert_int_equal(l.innermost[x] != NO_NODE, reached(full, 0, x) && full[x][x]);
        for (uint32_t k = 0; k < l.n; k++) {
            uint32_t h = l.at[k].header, outside = 0;
            assert_true(loop_contains(&l, k, h));
            assert_int_equal(l.at[k].depth, l.at[k].parent == NO_NODE ? 1 : l.at[l.at[k].parent].depth + 1);
            for (uint32_t x = 0; x < g.n; x++) { /* the numbers say what the chain of parents says */
                uint32_t at = l.innermost[x];
                while (at != NO_NODE && at != k)
                    at = l.at[at].parent;
                assert_int_equal(loop_contains(&l, k, x), at == k);
            }
            for (uint32_t x = 0; x < g.n; x++) { /* every member reaches the header and back */
                if (!loop_contains(&l, k, x))
                    continue;
                assert_true(full[x][h] && full[h][x]);
                bool entry = x == 0;
                GRAPH_PREDS(&g, x, p)
                    entry |= reached(full, 0, *p) && !loop_contains(&l, k, *p);
                outside += entry && x != h;
            }
            assert_int_equal(l.at[k].irreducible, outside > 0);
            irreducible += l.at[k].irreducible;
        }
        arena_free(&a);
    }
    assert_true(irreducible > 500);
}

/* A function with that graph; blocks without successors end in EXIT or RET. */
static Function *as_function(IrModule *module, uint64_t *s, bool returns) {
    Function *f = ir_function_new(module, str_intern_z(module->strings, "f"), true);
    uint32_t n = 3 + rnd(s, MAX - 5);
    for (uint32_t b = 1; b <= n; b++)
        ir_block_new(f);
    for (uint32_t b = 1; b <= n; b++) {
        uint32_t k = b == 1 ? 1 + rnd(s, 2) : rnd(s, 4) % 3;
        for (uint32_t e = 0; e < k; e++) {
            BlockId t = {2 + rnd(s, n - 1)};
            InstId bra = ir_branch_new(f, t);
            ir_append(f, (BlockId){b}, bra);
            ir_add_edge(f, (BlockId){b}, t);
        }
        if (!k) {
            unsigned op = returns && rnd(s, 2) ? OT_RET : OT_EXIT;
            ir_append(f, (BlockId){b}, ir_inst_new(f, op, 0, isa_num_src(op)));
        }
    }
    return f;
}

static bool ends_in(Function *f, uint32_t b, unsigned op) {
    const Block *blk = ir_block(f, (BlockId){b});
    return blk->succs.n == 0 && ir_inst(f, blk->insts.at[blk->insts.n - 1])->op == op;
}

static void check_region(const Graph *graph, const PostDom *dom, uint32_t region) {
    static bool cut[MAX][MAX];
    GraphEdge edges[4 * MAX];
    uint32_t m = 0;
    for (uint32_t x = 0; x < graph->n; x++) /* edges inside the region, none out of the sink */
        GRAPH_SUCCS(graph, x, t)
            if (dom->region[x] == region && dom->region[*t] == region && x != dom->sink[region])
                edges[m++] = (GraphEdge){x, *t};
    Arena a = {0};
    Graph r = graph_new(&a, graph->n, edges, m);
    uint32_t sink = dom->sink[region];
    for (uint32_t j = 1; j < graph->n; j++) {
        if (dom->region[j] != region)
            continue;
        reachability(&r, j, cut);
        for (uint32_t b = 1; b < graph->n; b++) {
            if (dom->region[b] != region)
                continue;
            bool pdom = j == b || j == sink || (b != sink && !reached(cut, b, sink));
            assert_int_equal(postdom_contains(dom, j, b), pdom);
        }
        uint32_t up = dom->ipdom[j];
        assert_true(up == 0 ? sink == 0 || j == sink : postdom_contains(dom, up, j) && up != j);
    }
    arena_free(&a);
}

static void test_post_dominators(void **state) {
    (void)state;
    static bool full[MAX][MAX];
    unsigned regions = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        StrTab strings = {0};
        IrModule *m = ir_module_new(isa_targets[0], &strings);
        uint64_t s = seed * 1001;
        Function *f = as_function(m, &s, seed % 3 == 0);
        Arena a = {0};
        Graph g = cfg_graph(&a, f);
        PostDom p = cfg_post_dominators(&a, f, &g, 1);
        reachability(&g, NO_NODE, full);
        bool any_return = false, any_exit = false;
        uint32_t best = 0;
        for (uint32_t b = 1; b < g.n; b++) {
            bool live = reached(full, 1, b);
            assert_int_equal(p.region[b] != NO_NODE, live);
            any_return |= live && ends_in(f, b, OT_RET);
            if (!live || !ends_in(f, b, OT_EXIT))
                continue;
            uint32_t count = 0;
            for (uint32_t x = 1; x < g.n; x++)
                count += reached(full, 1, x) && reached(full, x, b);
            best = count > best ? count : best;
            any_exit = true;
        }
        assert_true(p.nregions > 0);
        uint32_t first = p.sink[0];
        if (any_return)
            assert_int_equal(first, 0);
        else if (any_exit) { /* the exit that most blocks reach */
            uint32_t count = 0;
            assert_true(ends_in(f, first, OT_EXIT));
            for (uint32_t x = 1; x < g.n; x++)
                count += reached(full, 1, x) && reached(full, x, first);
            assert_int_equal(count, best);
        }
        for (uint32_t r = 0; r < p.nregions; r++)
            check_region(&g, &p, r);
        for (uint32_t b = 1; b < g.n; b++) /* from one region lanes go to later ones only */
            if (p.region[b] != NO_NODE)
                GRAPH_SUCCS(&g, b, t)
                    assert_true(p.region[*t] >= p.region[b]);
        regions += p.nregions;
        arena_free(&a);
        ir_module_free(m);
        str_free(&strings);
    }
    assert_true(regions > 4000);
}

static void test_edits(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        StrTab strings = {0};
        IrModule *m = ir_module_new(isa_targets[0], &strings);
        uint64_t s = seed * 31;
        Function *f = as_function(m, &s, false);
        cfg_remove_unreachable(f);
        cfg_split_critical_edges(f);
        for (unsigned k = 0; k < f->layout.n; k++) {
            const Block *b = ir_block(f, f->layout.at[k]);
            assert_true(k == 0 || b->preds.n > 0);
            for (unsigned e = 0; e < b->succs.n; e++) {
                const Block *block = ir_block(f, b->succs.at[e]);
                assert_true(b->succs.n == 1 || block->preds.n == 1);
                bool back = false;
                for (unsigned p = 0; p < block->preds.n; p++)
                    back |= block->preds.at[p].i == f->layout.at[k].i;
                assert_true(back);
            }
        }
        ir_module_free(m);
        str_free(&strings);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dominators),
        cmocka_unit_test(test_components_and_loops),
        cmocka_unit_test(test_post_dominators),
        cmocka_unit_test(test_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
