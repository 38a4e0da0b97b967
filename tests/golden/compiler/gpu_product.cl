#pragma OPENCL FP_CONTRACT OFF
kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void tandem_C(global const float *restrict b_A, global const float *restrict b_B, global float *restrict b_C) {
  local float b_B_tile[64] __attribute__((aligned(16)));
  local float b_A_tile[64] __attribute__((aligned(16)));
  const int i_gpu_block = get_group_id(0);
  const int i_gpu_thread = get_local_id(0);
  float b_C_near[4];
  for (int i_C_near_init_i = 0; i_C_near_init_i < 2; ++i_C_near_init_i) {
    for (int i_C_near_init_j = 0; i_C_near_init_j < 2; ++i_C_near_init_j) {
      b_C_near[i_C_near_init_i * 2 + i_C_near_init_j] = 0x0.0p+0f;
    }
  }
  for (int i_C_near_ko = 0; i_C_near_ko < 2; ++i_C_near_ko) {
    for (int i_A_tile_o = 0; i_A_tile_o < 2; ++i_A_tile_o) {
      b_A_tile[i_C_near_ko * 32 + ((i_A_tile_o * 4) + (i_gpu_thread / 4)) * 4 + (i_gpu_thread % 4)] = b_A[((((i_gpu_block / 3) * 8) + (i_A_tile_o * 4)) + (i_gpu_thread / 4)) * 8 + ((i_C_near_ko * 4) + (i_gpu_thread % 4))];
    }
    for (int i_B_tile_o = 0; i_B_tile_o < 2; ++i_B_tile_o) {
      b_B_tile[i_C_near_ko * 32 + ((i_B_tile_o * 2) + (i_gpu_thread / 8)) * 8 + (i_gpu_thread % 8)] = b_B[(((i_C_near_ko * 4) + (i_B_tile_o * 2)) + (i_gpu_thread / 8)) * 24 + (((i_gpu_block % 3) * 8) + (i_gpu_thread % 8))];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i_C_near_k = 0; i_C_near_k < 4; ++i_C_near_k) {
      for (int i_C_near_i = 0; i_C_near_i < 2; ++i_C_near_i) {
        for (int i_C_near_j = 0; i_C_near_j < 2; ++i_C_near_j) {
          b_C_near[i_C_near_i * 2 + i_C_near_j] = (b_C_near[i_C_near_i * 2 + i_C_near_j] + (b_A_tile[i_C_near_ko * 32 + (((i_gpu_thread / 4) * 2) + i_C_near_i) * 4 + i_C_near_k] * b_B_tile[i_C_near_ko * 32 + i_C_near_k * 8 + (((i_gpu_thread % 4) * 2) + i_C_near_j)]));
        }
      }
    }
  }
  for (int i_C_i = 0; i_C_i < 2; ++i_C_i) {
    for (int i_C_j = 0; i_C_j < 2; ++i_C_j) {
      b_C[((((i_gpu_block / 3) * 8) + ((i_gpu_thread / 4) * 2)) + i_C_i) * 24 + ((((i_gpu_block % 3) * 8) + ((i_gpu_thread % 4) * 2)) + i_C_j)] = b_C_near[i_C_i * 2 + i_C_j];
    }
  }
}
