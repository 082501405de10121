/* expr/shape_divide.h: integer quotient and remainder of one type, with the check for zero. No include guard.
 * In: K_T, K_U (its unsigned type), K_DIV, K_MOD (names). A constant divisor that is not zero makes a dense loop without checks. */
WR_INLINE K_T K_JOIN(K_DIV, op)(K_T a, K_T b) { return b == -1 ? (K_T)(0 - (K_U)a) : (K_T)(a / b); } /* MIN / -1 wraps */
WR_INLINE K_T K_JOIN(K_MOD, op)(K_T a, K_T b) { return b == -1 ? 0 : (K_T)(a % b); }

static wr_status K_DIV(wr_call *c) {
    const K_T *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
    K_T *r = c->out->data;
    uint32_t ma = c->arg[0].mask, mb = c->arg[1].mask;
    if (!mb && b[0] != 0) {
        const K_T y = b[0];
        for (uint32_t i = 0; i < c->n; i++) r[i] = K_JOIN(K_DIV, op)(a[i & ma], y);
        return WR_OK;
    }
    for ROWS(c, row) {
        if (WR_UNLIKELY(b[row & mb] == 0)) return call_fail(c, row, "22012", "division by zero");
        r[row] = K_JOIN(K_DIV, op)(a[row & ma], b[row & mb]);
    }
    return WR_OK;
}

static wr_status K_MOD(wr_call *c) {
    const K_T *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
    K_T *r = c->out->data;
    uint32_t ma = c->arg[0].mask, mb = c->arg[1].mask;
    if (!mb && b[0] != 0) {
        const K_T y = b[0];
        for (uint32_t i = 0; i < c->n; i++) r[i] = K_JOIN(K_MOD, op)(a[i & ma], y);
        return WR_OK;
    }
    for ROWS(c, row) {
        if (WR_UNLIKELY(b[row & mb] == 0)) return call_fail(c, row, "22012", "division by zero");
        r[row] = K_JOIN(K_MOD, op)(a[row & ma], b[row & mb]);
    }
    return WR_OK;
}
#undef K_T
#undef K_U
#undef K_DIV
#undef K_MOD
