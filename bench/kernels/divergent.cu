// Kernels whose lanes part in many ways, for bench/reconvergence. Every one reads 256 numbers and writes one for each
// thread. divergent.ptx: nvcc -ptx -O3 -arch=sm_80 divergent.cu, with comments taken out.
// SPDX-License-Identifier: MIT
#define KERNEL(name) extern "C" __global__ void name(const unsigned *in, unsigned *out)
#define NEXT(x) ((x) = (x)*1664525u + 1013904223u)
#define MIX(a, b) ((a) = ((a) ^ (b)) * 0x9e3779b1u, (a) ^= (a) >> 15, (a) += (b) << 3)
#define WORK(a, b) (MIX(a, b), MIX(a, (b) ^ 0x55u), (a) = ((a) << 9) | ((a) >> 23), MIX(a, (b) + 7u))
#define LOOP _Pragma("unroll 1") for
#define WHILE _Pragma("unroll 1") while

KERNEL(while_three_ways) { // break, continue and return
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int n = 0; n < 40; n++) {
        NEXT(s);
        if ((s >> 27) == 1) {
            acc += in[s & 255];
            if ((acc & 15) == 3)
                break;
            continue;
        }
        if (s & 0x80000) {
            MIX(acc, s);
            if ((s >> 23) == 77) {
                out[t] = acc;
                return;
            }
        }
        WORK(acc, s);
    }
    out[t] = acc ^ s;
}

KERNEL(goto_out_of_two) {
    unsigned t = threadIdx.x, best = 0;
    LOOP (int i = 0; i < 14; i++) {
        unsigned a = in[(t * 3 + i) & 255];
        LOOP (int j = 0; j < (int)(a & 15); j++) {
            NEXT(a);
            MIX(best, a);
            if ((a >> 25) == 5)
                goto done;
        }
        WORK(best, a);
        best += in[best & 255];
    }
done:
    out[t] = best;
}

KERNEL(states) { // a switch in a loop whose cases choose the next
    unsigned t = threadIdx.x, s = in[t], acc = t, state = t & 3;
    LOOP (int i = 0; i < 20; i++) {
        NEXT(s);
        switch (state) {
        case 0: WORK(acc, s); state = 1 + (s >> 31); break;
        case 1: WORK(acc, ~s); state = s >> 30; break;
        case 2: WORK(acc, s * 3); state = 3; break;
        case 3: WORK(acc, s * 5); state = 1 + (s >> 30); break;
        case 4: WORK(acc, s + acc); state = 0; break;
        }
        if (acc < 0x08000000u)
            break;
    }
    out[t] = acc;
}

KERNEL(inner_do_while) { // the inner loop may end the outer one
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 12; i++) {
        WORK(acc, s);
        int j = 0;
        do {
            NEXT(s);
            WORK(acc, s);
            if ((s >> 26) == 0)
                goto done;
        } while (++j < (int)(s >> 29));
        WORK(acc, i);
    }
done:
    WORK(acc, 1u);
    out[t] = acc;
}

KERNEL(switch_continue) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 24; i++) {
        NEXT(s);
        switch ((s >> 20) % 7u) {
        case 0: WORK(acc, s); continue;
        case 1: acc += in[(s ^ acc) & 255]; break;
        case 2: WORK(acc, s * 7); break;
        case 3: acc ^= s / (1 + (acc & 7)); break;
        case 4: WORK(acc, ~s); continue;
        case 5: acc *= s | 1; break;
        default: acc += __popc(s);
        }
        WORK(acc, s ^ 0x1234u);
        acc += in[acc & 255];
    }
    out[t] = acc;
}

KERNEL(early_returns) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 16; i++) {
        NEXT(s);
        if ((s >> 27) == 3) {
            WORK(acc, s);
            out[t] = acc;
            return;
        }
        MIX(acc, s);
        if ((acc >> 27) == 9) {
            out[t] = ~acc;
            return;
        }
        if (s & 0x1000)
            WORK(acc, ~s);
    }
    out[t] = acc;
}

KERNEL(short_circuit) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 20; i++) {
        NEXT(s);
        if (((s & 0x100) && (in[s & 255] & 1)) || ((s & 0x8000) && (in[(s >> 8) & 255] & 3) == 2))
            WORK(acc, s);
        else
            MIX(acc, ~s);
        MIX(acc, i);
    }
    out[t] = acc;
}

KERNEL(search) { // several ways to end
    unsigned t = threadIdx.x, key = in[t] >> 3, lo = 0, hi = 255, n = 0, found = ~0u;
    WHILE (lo < hi) {
        unsigned mid = (lo + hi) >> 1, x = in[(mid * 7 + n) & 255] >> 3;
        n++;
        if ((x ^ key) < 0x2000000u) {
            found = mid;
            break;
        }
        if (x < key)
            lo = mid + 1;
        else
            hi = mid;
        if (n > 40)
            break;
        if ((x & 31) == 17) {
            WORK(n, x);
            found = n;
            break;
        }
    }
    out[t] = found + n + lo;
}

KERNEL(nested_switch) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 16; i++) {
        NEXT(s);
        switch (s >> 30) {
        case 0:
            switch ((s >> 20) & 3) {
            case 0: WORK(acc, s); break;
            case 1: acc += in[s & 255]; break;
            case 2: acc = acc * 33 + s; goto next;
            default: WORK(acc, ~s);
            }
            MIX(acc, 5u);
            break;
        case 1: WORK(acc, s * 3); break;
        case 2:
            if (s & 0x10000)
                goto next;
            WORK(acc, s * 5);
            break;
        default: MIX(acc, s);
        }
        WORK(acc, 9u);
    next:
        MIX(acc, i);
    }
    out[t] = acc;
}

KERNEL(rare_long_path) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 32; i++) {
        NEXT(s);
        if ((s >> 27) == 0) {
            WORK(acc, s);
            WORK(acc, s * 3);
            WORK(acc, s * 5);
            WORK(acc, s * 7);
            acc += in[acc & 255];
        }
        MIX(acc, s);
    }
    out[t] = acc;
}

KERNEL(trip_counts) {
    unsigned t = threadIdx.x, acc = t;
    LOOP (int i = 0; i < 8; i++) {
        unsigned n = in[(t + i * 17) & 255] & 31;
        WHILE (n--)
            MIX(acc, n);
        WORK(acc, i);
    }
    out[t] = acc;
}

KERNEL(probe) { // open addressing: empty, found, or on
    unsigned t = threadIdx.x, hits = 0, s = in[t];
    LOOP (int k = 0; k < 6; k++) {
        NEXT(s);
        unsigned at = s >> 24;
        LOOP (int n = 0; n < 64; n++) {
            unsigned x = in[at];
            if ((x & 7) == 0)
                break;
            if ((x & 15) == (s & 15)) {
                WORK(hits, at);
                break;
            }
            at = (at + 1) & 255;
        }
        WORK(hits, s);
    }
    out[t] = hits;
}

KERNEL(two_level_break) { // break of the inner loop, then perhaps of the outer
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 16; i++) {
        unsigned stop = 0;
        LOOP (int j = 0; j < 6; j++) {
            NEXT(s);
            if ((s >> 28) == 2) {
                stop = s & 0x4000;
                WORK(acc, s);
                break;
            }
            MIX(acc, s);
        }
        if (stop)
            break;
        WORK(acc, i);
    }
    out[t] = acc;
}

KERNEL(fallthrough) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 18; i++) {
        NEXT(s);
        switch (s >> 29) {
        case 5: WORK(acc, s);
        case 4: MIX(acc, ~s);
        case 3: WORK(acc, s * 3); break;
        case 2: acc += in[s & 255];
        case 1: WORK(acc, s * 5); break;
        case 0: continue;
        default: MIX(acc, 1u);
        }
        WORK(acc, 77u);
    }
    out[t] = acc;
}

KERNEL(else_ifs) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 16; i++) {
        NEXT(s);
        if (s < 0x20000000u)
            WORK(acc, s);
        else if (s < 0x50000000u)
            acc += in[(s >> 9) & 255];
        else if (s < 0x90000000u) {
            WORK(acc, s * 9);
            if (acc & 1)
                MIX(acc, s);
        } else if (s < 0xd0000000u)
            WORK(acc, ~s);
        MIX(acc, i);
    }
    out[t] = acc;
}

KERNEL(escape) { // as a Mandelbrot set: how long does it stay?
    unsigned t = threadIdx.x;
    int x = (int)(in[t] >> 18) - 8192, y = (int)(in[(t + 1) & 255] >> 18) - 8192, a = x, b = y, n = 0;
    WHILE (n < 60) {
        int a2 = a * a >> 12, b2 = b * b >> 12;
        if (a2 + b2 > 16384)
            break;
        b = (a * b >> 11) + (y >> 1);
        a = a2 - b2 + (x >> 1);
        n++;
    }
    out[t] = n * 65536 + (a & 0xffff);
}

KERNEL(string_match) {
    unsigned t = threadIdx.x, found = 0;
    LOOP (unsigned at = t & 63; at < 120 + (t & 31); at++) {
        unsigned j = 0;
        WHILE (j < 5 && ((in[(at + j) & 255] >> j) & 3) == ((in[j + t & 255] >> 4) & 3))
            j++;
        if (j == 5) {
            found = at + 1;
            break;
        }
        if (j > 2)
            MIX(found, at);
    }
    out[t] = found;
}

KERNEL(gcds) {
    unsigned t = threadIdx.x, sum = 0;
    LOOP (int i = 0; i < 4; i++) {
        unsigned a = in[(t + i) & 255] >> 12 | 1, b = in[(t * 5 + i) & 255] >> 14 | 1;
        WHILE (a != b) {
            if (a > b) {
                a -= b;
                WHILE (!(a & 1))
                    a >>= 1;
            } else {
                b -= a;
                WHILE (!(b & 1))
                    b >>= 1;
            }
        }
        MIX(sum, a);
    }
    out[t] = sum;
}

KERNEL(tree_walk) {
    unsigned t = threadIdx.x, key = in[t], node = 1, acc = 0;
    LOOP (int tries = 0; tries < 5; tries++) {
        NEXT(key);
        node = 1;
        LOOP (;;) {
            unsigned x = in[node & 255];
            if (node >= 128 || (x & 15) == 4) {
                WORK(acc, node);
                break;
            }
            if ((x >> 8 & 255) == (key & 255)) {
                out[t] = node;
                return;
            }
            if (x < key)
                node = 2 * node;
            else {
                node = 2 * node + 1;
                MIX(acc, x);
            }
        }
    }
    out[t] = acc;
}

KERNEL(retry) { // continue of the outer loop out of the inner one
    unsigned t = threadIdx.x, s = in[t], acc = t;
    int i = 0;
again:
    if (++i > 14)
        goto end;
    LOOP (int j = 0; j < 5; j++) {
        NEXT(s);
        if ((s >> 29) == 6)
            goto again;
        WORK(acc, s);
    }
    WORK(acc, i);
    if ((acc & 31) != 9)
        goto again;
end:
    out[t] = acc;
}

KERNEL(interpreter) { // of small programs
    unsigned t = threadIdx.x, pc = t & 255, a = in[t], b = 1, fuel = 48;
    WHILE (fuel--) {
        unsigned word = in[pc & 255];
        pc++;
        switch (word >> 13 & 7) {
        case 0: a += b; break;
        case 1: b ^= a << 1; break;
        case 2: WORK(a, b); break;
        case 3:
            if (a & 1)
                pc += word & 15;
            break;
        case 4: a = in[a & 255]; break;
        case 5: b = a / (1 + (b & 15)); break;
        case 6:
            if ((word & 0xf0) == 0x10)
                goto halt;
            a = ~a;
            break;
        default: MIX(b, a);
        }
    }
halt:
    out[t] = a ^ b;
}

KERNEL(triangle) { // the inner loop's trip count is the outer one's number, with an exit
    unsigned t = threadIdx.x, s = in[t], acc = 0;
    LOOP (unsigned i = 0; i < 8 + (t & 7); i++)
        LOOP (unsigned j = 0; j <= i; j++) {
            NEXT(s);
            if ((s >> 24) == 7)
                break;
            MIX(acc, s);
            if (acc & 4)
                WORK(acc, j);
        }
    out[t] = acc;
}

KERNEL(three_deep) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 4; i++) {
        LOOP (int j = 0; j < 4; j++) {
            LOOP (int k = 0; k < (int)(s & 7); k++) {
                NEXT(s);
                MIX(acc, s);
                if ((s >> 26) == 1)
                    goto outer;
                if ((s >> 26) == 2)
                    goto end;
            }
            WORK(acc, j);
        }
    outer:
        WORK(acc, i);
    }
end:
    out[t] = acc;
}

KERNEL(validate) { // one check after the other, one handler
    unsigned t = threadIdx.x, acc = t, bad = 0;
    LOOP (int i = 0; i < 12; i++) {
        unsigned x = in[(t * 11 + i * 5) & 255];
        if ((x & 7) == 0)
            goto wrong;
        MIX(acc, x);
        if ((acc & 7) == 1)
            goto wrong;
        WORK(acc, x);
        if ((acc & 15) == 2)
            goto wrong;
        WORK(acc, ~x);
        continue;
    wrong:
        bad++;
        MIX(acc, bad);
        if (bad > 9)
            break;
    }
    out[t] = acc + bad;
}

KERNEL(newton) {
    unsigned t = threadIdx.x, total = 0;
    LOOP (int i = 0; i < 6; i++) {
        unsigned x = in[(t + i * 31) & 255] >> 4, r = x, n = 0;
        if (x == 0)
            continue;
        LOOP (;;) {
            unsigned q = (r + x / r) >> 1;
            if (q >= r)
                break;
            r = q;
            if (++n == 24)
                break;
        }
        WORK(total, r);
    }
    out[t] = total;
}

KERNEL(dispatch_return) {
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 20; i++) {
        NEXT(s);
        switch (s >> 28) {
        case 0: out[t] = acc; return;
        case 1: WORK(acc, s); break;
        case 2: case 3: MIX(acc, ~s); break;
        case 4: acc += in[s & 255]; continue;
        case 5: WORK(acc, s * 3); goto tail;
        default: MIX(acc, s);
        }
        WORK(acc, 3u);
    tail:
        MIX(acc, i);
    }
    out[t] = acc * 3;
}

KERNEL(queens) { // all ways to place five queens behind a first one
    unsigned t = threadIdx.x, count = 0, rows[6];
    int d = 1;
    unsigned c0 = in[t] % 6u, taken = 1u << c0, left = taken << 1, right = taken >> 1;
    unsigned st = 0, sl = 0, sr = 0;
    rows[0] = c0;
    unsigned free_ = ~(taken | left | right) & 63u;
    LOOP (int fuel = 0; fuel < 64; fuel++) {
        if (!free_) {
            if (--d < 1)
                break;
            unsigned bit = 1u << (rows[1] & 31);
            free_ = st & ~(bit | (bit - 1));
            taken = 1u << c0;
            left = sl;
            right = sr;
            continue;
        }
        unsigned bit = free_ & -free_;
        if (d == 1) {
            rows[1] = 31 - __clz(bit);
            st = free_, sl = left, sr = right;
        }
        taken |= bit;
        left = (left | bit) << 1;
        right = (right | bit) >> 1;
        free_ = ~(taken | left | right) & 63u;
        if (++d == 6) {
            count++;
            WORK(count, taken);
            free_ = 0;
        }
    }
    out[t] = count;
}

KERNEL(bits_by_bits) {
    unsigned t = threadIdx.x, acc = 0;
    LOOP (int i = 0; i < 6; i++) {
        unsigned m = in[(t + 13 * i) & 255];
        WHILE (m) {
            unsigned bit = m & -m;
            m ^= bit;
            if (bit & 0x00f0f0f0u)
                continue;
            if (bit & 0x08000000u && acc & 1)
                break;
            MIX(acc, bit);
            if (acc & 2)
                WORK(acc, m);
        }
        MIX(acc, i);
    }
    out[t] = acc;
}

KERNEL(parse) { // numbers, blanks, comments
    unsigned t = threadIdx.x, at = t, value = 0, sum = 0, end = t + 40;
    WHILE (at < end) {
        unsigned c = in[at & 255] >> 5 & 15;
        at++;
        if (c < 3)
            continue;
        if (c == 3) {
            WHILE (at < end && (in[at & 255] >> 5 & 15) != 4)
                at++;
            continue;
        }
        if (c == 5 && (sum & 63) == 1) {
            out[t] = ~sum;
            return;
        }
        value = 0;
        do {
            value = value * 10 + c;
            c = in[at & 255] >> 5 & 15;
            at++;
        } while (c > 6 && at < end);
        WORK(sum, value);
    }
    out[t] = sum;
}

KERNEL(bubble) { // passes until nothing moves
    unsigned t = threadIdx.x, a[6];
    for (int i = 0; i < 6; i++)
        a[i] = in[(t * 7 + i) & 255] >> 8;
    int rounds = 0;
    LOOP (;;) {
        unsigned moved = 0;
#pragma unroll
        for (int i = 0; i < 5; i++)
            if (a[i] > a[i + 1]) {
                unsigned x = a[i];
                a[i] = a[i + 1], a[i + 1] = x;
                moved += x & 3;
            }
        if (!moved)
            break;
        if (++rounds == 9)
            break;
    }
    out[t] = a[0] ^ a[2] * 3 ^ a[4] * 5 ^ a[5] * 7 ^ rounds;
}

KERNEL(rejection) { // draw until it fits, give up after some
    unsigned t = threadIdx.x, s = in[t], sum = 0;
    LOOP (int i = 0; i < 10; i++) {
        unsigned x, y, n = 0;
        do {
            NEXT(s);
            x = s >> 16;
            NEXT(s);
            y = s >> 16;
            if (++n > 12) {
                sum = ~sum;
                goto out_of_luck;
            }
        } while (x + y > 0x12000 || (x ^ y) & 2);
        WORK(sum, x * y);
    out_of_luck:
        MIX(sum, n);
    }
    out[t] = sum;
}

KERNEL(straight_ifs) { // no loop: conditions that share ends
    unsigned t = threadIdx.x, s = in[t], acc = t;
    if (s & 1) {
        if (s & 2) {
            WORK(acc, s);
            goto b;
        }
        if (s & 4)
            goto a;
        WORK(acc, ~s);
        goto c;
    }
    if (s & 8)
        goto b;
a:
    WORK(acc, 3u);
    acc += in[acc & 255];
    if (acc & 1)
        goto c;
b:
    WORK(acc, 5u);
    acc += in[acc & 255];
    if (acc & 2)
        goto d;
c:
    WORK(acc, 7u);
    acc += in[acc & 255];
d:
    WORK(acc, 9u);
    out[t] = acc;
}

KERNEL(retries_in_turn) { // loops one behind the other, each of which may give up and skip all others
    unsigned t = threadIdx.x, s = in[t], hit = 0;
    float acc = 0;
    for (int k = 0; k < 12; k++) {
        float x, y;
        int tries = 0;
        do {
            NEXT(s);
            x = (s >> 8) * (1.f / 16777216.f) * 2 - 1;
            NEXT(s);
            y = (s >> 8) * (1.f / 16777216.f) * 2 - 1;
            if (++tries > 10)
                goto out;
        } while (x * x + y * y > 0.5f);
        acc += x > y ? x : y;
        if (acc > 4)
            break;
        hit++;
    }
out:
    out[t] = __float_as_uint(acc) + hit;
}

KERNEL(two_loops_one_head) { // both go back to where the inner one begins
    unsigned t = threadIdx.x, u = in[t], v = in[(t + 13) & 255], twos = 0;
    if (!u || !v) {
        out[t] = u | v;
        return;
    }
    for (; ((u | v) & 1) == 0; twos++) {
        u >>= 1;
        v >>= 1;
    }
    while (!(u & 1))
        u >>= 1;
    do {
        while (!(v & 1))
            v >>= 1;
        if (u > v) {
            unsigned w = v;
            v = u;
            u = w;
        }
        v -= u;
    } while (v);
    out[t] = u << twos;
}

KERNEL(prefix_code) { // a walk down a tree for each symbol, left from four of its nodes, all of it from a fifth
    unsigned t = threadIdx.x, pos = t * 3, hash = 0, symbols = 0;
    while (symbols < 24) {
        unsigned node = 0;
        for (;;) {
            unsigned bit = in[(pos >> 5) & 255] >> (pos & 31) & 1;
            pos++;
            if (node == 0) {
                node = bit ? 2 : 1;
            } else if (node == 1) {
                if (bit) {
                    hash = hash * 3 + 1;
                    break;
                }
                node = 3;
            } else if (node == 2) {
                if (!bit) {
                    hash = hash * 3 + 2;
                    break;
                }
                node = 4;
            } else if (node == 3) {
                hash = hash * 7 + bit;
                break;
            } else {
                if (bit)
                    goto end;
                node = 3;
            }
        }
        symbols++;
    }
end:
    out[t] = hash + symbols;
}

KERNEL(lexer) { // whether a round is done again follows from the state that the last one chose
    unsigned t = threadIdx.x, s = in[t], names = 0, numbers = 0, marks = 0, bad = 0, hash = 0, state = 0;
    LOOP (int i = 0; i < 64; i++) {
        NEXT(s);
        unsigned c = (s >> 24) % 11;
    again:
        switch (state) {
        case 0:
            if (c < 3) {
                state = 1, hash += c;
            } else if (c < 5) {
                state = 2, hash = hash * 10 + c;
            } else if (c == 5) {
                state = 3;
            } else if (c < 8) {
                marks++;
            } else if (c == 8) {
                continue;
            } else if (c == 9) {
                state = 5;
            } else if (++bad > 6) {
                goto done;
            }
            break;
        case 1:
            if (c < 5) {
                hash = hash * 3 + c;
                break;
            }
            names++, state = 0;
            goto again;
        case 2:
            if (c == 3 || c == 4) {
                hash = hash * 10 + c;
                break;
            }
            if (c == 9) {
                state = 4;
                break;
            }
            numbers++, state = 0;
            goto again;
        case 3:
            if (c == 5)
                state = 0, marks += 2;
            break;
        case 4:
            if (c == 3 || c == 4) {
                hash = hash * 7 + c;
                break;
            }
            numbers += 16, state = 0;
            goto again;
        case 5:
            if (c == 10)
                state = 0;
            break;
        }
    }
done:
    out[t] = hash + names * 3 + numbers * 5 + marks * 7 + bad;
}

KERNEL(wildcards) { // '*' and '?' with one step back; four patterns, unrolled: every copy wants its joins
    unsigned t = threadIdx.x, acc = 0;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        unsigned text = in[(t + q) & 255], pattern = in[t] + q * 0x2545f491u;
        int at = 0, p = 0, star = -1, mark = 0;
        bool fits = true;
        MIX(pattern, text >> 5);
        WHILE (at < 16) {
            unsigned c = pattern >> (p * 3) & 7;
            if (p < 8 && (c == 6 || (c < 4 && (c & 3) == (text >> (2 * at) & 3)))) {
                at++, p++;
            } else if (p < 8 && c >= 4) {
                star = p++;
                mark = at;
            } else if (star >= 0) {
                p = star + 1;
                at = ++mark;
            } else {
                fits = false;
                break;
            }
        }
        WHILE (fits && p < 8 && (pattern >> (p * 3) & 7) >= 4)
            p++;
        acc = acc * 9 + p + (fits ? 4 : 0);
    }
    out[t] = acc;
}

KERNEL(numbers) { // a loop that begins with one over blanks: both go back to one place
    unsigned t = threadIdx.x, at = t, sum = 0;
    LOOP (int n = 0; n < 6; n++) {
        unsigned value = 0, c;
        WHILE ((in[at & 255] & 31) > 24 && at < t + 100)
            at++;
        WHILE ((c = in[at & 255] & 31) < 14) {
            value = value * 10 + c;
            at++;
            if (value > 100000) {
                sum ^= n;
                goto next;
            }
        }
        if (c == 14 || c == 15) {
            at++;
            WHILE ((c = in[at & 255] & 31) < 12) {
                MIX(value, c);
                at++;
            }
        }
        if (c > 18 && c < 22)
            WORK(value, c);
        sum += value;
    next:
        at++;
    }
    out[t] = sum + at;
}

KERNEL(partition) { // from both ends, until they meet
    unsigned t = threadIdx.x, pivot = in[t] >> 8, acc = 0;
    int low = t & 127, high = low + 100;
    LOOP (;;) {
        WHILE (in[low & 255] >> 8 < pivot && low < high)
            low++;
        WHILE (in[high & 255] >> 8 > pivot && low < high)
            high--;
        if (low >= high)
            break;
        WORK(acc, in[low & 255] ^ in[high & 255]);
        low++;
        high--;
    }
    out[t] = acc + low;
}

KERNEL(words) { // of a text, blanks between them, and one that ends it
    unsigned t = threadIdx.x, at = t, longest = 0, hash = 0, words = 0;
    LOOP (;;) {
        unsigned length = 0, c;
        WHILE ((c = in[at & 255] >> 10 & 7) < 3) {
            at++;
            if (at > t + 120)
                goto end;
        }
        WHILE ((c = in[at & 255] >> 10 & 7) >= 3 && at <= t + 120) {
            hash = hash * 33 + c;
            at++;
            length++;
        }
        if (length > longest) {
            longest = length;
            MIX(hash, at);
        }
        if (++words == 12)
            break;
        if ((hash & 127) == 99)
            goto end;
    }
    WORK(hash, words);
end:
    out[t] = hash + longest * 7;
}

KERNEL(half_sums) { // each half of the warp with shuffles of its own
    unsigned t = threadIdx.x, v = in[t], acc = 0;
    LOOP (int r = 0; r < 4; r++) {
        if (t & 16) {
            for (int o = 8; o; o >>= 1) {
                unsigned other = __shfl_xor_sync(0xffff0000u, v, o);
                v = v > other ? v : other;
            }
            acc ^= v;
            v = v * 5 + t;
        } else {
            for (int o = 8; o; o >>= 1)
                v += __shfl_xor_sync(0x0000ffffu, v, o);
            acc += v;
            if (acc & 1)
                v = in[acc & 255] ^ t;
        }
    }
    out[t] = acc;
}

KERNEL(ballots) { // who comes to a side is known by a vote
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int r = 0; r < 10; r++) {
        NEXT(s);
        bool one = s >> 31;
        unsigned ones = __ballot_sync(0xffffffffu, one);
        if (one) {
            acc += __popc(__ballot_sync(ones, s & 0x1000)) * r;
            if (s & 0x1000)
                WORK(acc, ones);
            __syncwarp(ones);
        } else {
            acc ^= __popc(__ballot_sync(~ones, s & 0x2000));
            MIX(acc, s);
        }
    }
    out[t] = acc;
}

KERNEL(sparse_rows) { // rows of other lengths, the diagonal left out
    unsigned t = threadIdx.x, length = in[t] & 31, acc = 0;
    if ((in[t] & 0xf00) == 0)
        length *= 4;
    LOOP (unsigned i = t * 3; i < t * 3 + length; i++) {
        unsigned w = in[i & 255], column = w >> 24;
        if (column == t)
            continue;
        acc += (w & 255) * (in[column] & 15);
    }
    out[t] = acc;
}

KERNEL(conditions) { // of three words, as they come in parsers
    unsigned t = threadIdx.x, acc = 0;
    LOOP (int i = 0; i < 20; i++) {
        unsigned a = in[(t + i) & 255], b = in[(t * 3 + i) & 255], c = in[(t * 5 + i) & 255];
        if ((a & 1 && (b & 2 || c & 4)) || (b & 8 && !(a & 16 || (c & 32 && b & 64)))) {
            acc = acc * 7 + a;
            if ((a > b && b > c) || c == 0)
                acc ^= 3;
        } else if ((a ^ b) & 128 ? (c & 1 ? b & 2 : a & 4) : c & 8) {
            acc += b;
        } else if (!(a & 0x300) && !(b & 0x300)) {
            break;
        }
    }
    out[t] = acc;
}

KERNEL(stack_walk) { // of a tree, the nearer child first, leaves with a loop of their own
    unsigned t = threadIdx.x, ray = in[t], stack[20], node = 1, best = 0xffffffffu, visits = 0;
    int top = 0;
    LOOP (;;) {
        visits++;
        if (node >= 64) {
            LOOP (unsigned i = 0; i <= (in[node & 255] & 3); i++) {
                unsigned d = (in[(node * 4 + i) & 255] ^ ray) >> 8;
                if (d < best)
                    best = d;
                if (d < 1000)
                    goto hit;
            }
        } else {
            unsigned l = (in[node] ^ ray) & 0xffff, r = (in[node + 64] ^ ray) >> 16;
            bool left = l < 45000 && l < best >> 8, right = r < 45000 && r < best >> 8;
            if (left && right) {
                stack[top++] = 2 * node + (l <= r);
                node = 2 * node + (l > r);
                continue;
            }
            if (left || right) {
                node = 2 * node + right;
                continue;
            }
        }
        if (top == 0)
            break;
        node = stack[--top];
    }
hit:
    out[t] = best + visits;
}

KERNEL(spheres) { // the nearest, then whether another one throws a shadow: 24 copies of a test that leaves out one
    unsigned t = threadIdx.x;
    float x = (in[t] & 255) * .02f - 2.5f, y = (in[t] >> 8 & 255) * .02f - 2.5f, best = 1e9f;
    int hit = -1;
    for (int j = 0; j < 24; j++) {
        unsigned w = in[j * 5];
        float dx = (w & 255) * .02f - 2.5f - x, dy = (w >> 8 & 255) * .02f - 2.5f - y, r = (w >> 16 & 63) * .02f;
        float d = dx * dx + dy * dy;
        if (d > r * r)
            continue;
        float z = (w >> 24) * .1f - sqrtf(r * r - d);
        if (z < 0 || z >= best)
            continue;
        best = z;
        hit = j;
        if (z < .5f)
            break;
    }
    unsigned light = 0;
    if (hit >= 0) {
        light = 10;
        for (int j = 0; j < 24; j++) {
            if (j == hit)
                continue;
            unsigned w = in[j * 5 + 1];
            if ((w & 0xff) < 40 && (w >> 8 & 0xff) < best * 10) {
                light = 3;
                break;
            }
        }
    }
    out[t] = light + hit * 16;
}

KERNEL(compare_and_add) { // sums of f32 by compare-and-swap: who tries again waits for nobody
    __shared__ unsigned sums[16];
    unsigned t = threadIdx.x;
    if (t < 16)
        sums[t] = 0;
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        unsigned w = in[(t + 64 * i) & 255], k = w & 15;
        if (k > 11)
            continue;
        unsigned old = sums[k], seen;
        do {
            seen = old;
            old = atomicCAS(&sums[k], seen, __float_as_uint(__uint_as_float(seen) + (float)(w >> 28)));
        } while (old != seen);
    }
    __syncthreads();
    out[t] = sums[t & 15];
}
