/* expr/shape_unary.h: loop template of a dense kernel of one argument. No include guard.
 * In: K_NAME, K_A, K_R (types), K_OP(x) (expression), K_SETUP (optional, as in shape_binary.h).                    */
static wr_status K_NAME(wr_call *c) {
    const K_A *restrict a = c->arg[0].vec->data;
    K_R *restrict r = c->out->data;
#ifdef K_SETUP
    K_SETUP
#endif
    for (uint32_t i = 0, n = c->n; i < n; i++) r[i] = (K_R)K_OP(a[i]);
    return WR_OK;
}
#undef K_NAME
#undef K_A
#undef K_R
#undef K_OP
#undef K_SETUP
