/* expr/shape_compare.h: the six comparisons of one storage as dense kernels. No include guard. In: K_T, K_TAG (suffix of the names). */
#define K_EQ(x, y) ((x) == (y))
#define K_NE(x, y) ((x) != (y))
#define K_LT(x, y) ((x) < (y))
#define K_LE(x, y) ((x) <= (y))
#define K_GT(x, y) ((x) > (y))
#define K_GE(x, y) ((x) >= (y))
#define K_NAME K_JOIN(eq, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_EQ
#include "shape_binary.h"
#define K_NAME K_JOIN(ne, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_NE
#include "shape_binary.h"
#define K_NAME K_JOIN(lt, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_LT
#include "shape_binary.h"
#define K_NAME K_JOIN(le, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_LE
#include "shape_binary.h"
#define K_NAME K_JOIN(gt, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_GT
#include "shape_binary.h"
#define K_NAME K_JOIN(ge, K_TAG)
#define K_A K_T
#define K_B K_T
#define K_R uint8_t
#define K_OP K_GE
#include "shape_binary.h"
#undef K_EQ
#undef K_NE
#undef K_LT
#undef K_LE
#undef K_GT
#undef K_GE
#undef K_T
#undef K_TAG
