/* expr/shape_binary.h: loop template of a dense kernel of two arguments. No include guard.
 * In: K_NAME, K_A, K_B, K_R (types), K_OP(x, y) (expression), K_SETUP (statements before the loop, may use `c`; optional).
 * Constant arguments are one value outside the loop. All lanes are computed; validity is the program's business. */
static wr_status K_NAME(wr_call *c) {
    const K_A *restrict a = c->arg[0].vec->data;
    const K_B *restrict b = c->arg[1].vec->data;
    K_R *restrict r = c->out->data;
    uint32_t n = c->n;
#ifdef K_SETUP
    K_SETUP
#endif
    if (c->arg[0].mask && c->arg[1].mask) {
        for (uint32_t i = 0; i < n; i++) r[i] = (K_R)K_OP(a[i], b[i]);
    } else if (c->arg[0].mask) {
        const K_B y = b[0];
        for (uint32_t i = 0; i < n; i++) r[i] = (K_R)K_OP(a[i], y);
    } else if (c->arg[1].mask) {
        const K_A x = a[0];
        for (uint32_t i = 0; i < n; i++) r[i] = (K_R)K_OP(x, b[i]);
    } else {
        r[0] = (K_R)K_OP(a[0], b[0]);
    }
    return WR_OK;
}
#undef K_NAME
#undef K_A
#undef K_B
#undef K_R
#undef K_OP
#undef K_SETUP
