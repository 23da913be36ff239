"""The kernel under test: a sequence-parallel attention backward with one line in two formulations.

A program owns BLOCK_N rows of K and V, walks over all of Q in steps of BLOCK_M, and adds its share
of dq with atomics.  The product for dq is written either *direct* or *transposed*; both compute the
same numbers, and triton-lang/triton issue 1806 reports the direct one 7.8 times slower.

This file is compiled by every Triton since 2.0.0, so it uses nothing newer than 2.0.0 offers and
imports triton alone.  What the compilers emit depends on its every statement: the order of loads,
the form of the loop and the pointer arithmetic are part of the experiment.
"""

import triton
import triton.language as tl


@triton.jit
def attention_backward(
    Q, K, V, DO, DQ, DK, DV, L, M, D,
    softmax_scale,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk,
    stride_oz, stride_oh, stride_om, stride_ok,
    stride_dqz, stride_dqh, stride_dqm, stride_dqk,
    stride_dkz, stride_dkh, stride_dkn, stride_dkk,
    stride_dvz, stride_dvh, stride_dvn, stride_dvk,
    stride_lz, stride_lh, stride_lm,
    seq_len,
    BLOCK_DMODEL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    TRANSPOSED: tl.constexpr,
):
    """dq, dk, dv of softmax(Q Kᵀ · softmax_scale) V for one block of keys.

    Q, K, V, DO, DK, DV: (batch, heads, seq_len, BLOCK_DMODEL), 16-bit; DQ: the same shape in
    float32, zero before the launch.  L, M, D: (batch, heads, seq_len) float32; M is the row's
    log-sum-exp, D its sum of DO·O; L is part of the issue's signature and is not read.
    Grid: (batch, heads, seq_len / BLOCK_N).  seq_len is a multiple of both blocks.
    """
    batch = tl.program_id(0)
    head = tl.program_id(1)
    block_n = tl.program_id(2)
    row_base = (batch * tl.num_programs(1) + head) * seq_len

    K += batch * stride_kz + head * stride_kh
    V += batch * stride_vz + head * stride_vh
    DK += batch * stride_dkz + head * stride_dkh
    DV += batch * stride_dvz + head * stride_dvh
    Q += batch * stride_qz + head * stride_qh
    DO += batch * stride_oz + head * stride_oh
    DQ += batch * stride_dqz + head * stride_dqh

    offs_n = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_m = tl.arange(0, BLOCK_M)
    offs_k = tl.arange(0, BLOCK_DMODEL)

    q_ptrs = Q + (offs_m[:, None] * stride_qm + offs_k[None, :] * stride_qk)
    k_ptrs = K + (offs_n[:, None] * stride_kn + offs_k[None, :] * stride_kk)
    v_ptrs = V + (offs_n[:, None] * stride_vn + offs_k[None, :] * stride_vk)
    do_ptrs = DO + (offs_m[:, None] * stride_om + offs_k[None, :] * stride_ok)
    dq_ptrs = DQ + (offs_m[:, None] * stride_dqm + offs_k[None, :] * stride_dqk)
    m_ptrs = M + row_base
    delta_ptrs = D + row_base

    dv = tl.zeros([BLOCK_N, BLOCK_DMODEL], dtype=tl.float32)
    dk = tl.zeros([BLOCK_N, BLOCK_DMODEL], dtype=tl.float32)
    k = tl.load(k_ptrs)
    v = tl.load(v_ptrs)

    end = tl.cdiv(seq_len, BLOCK_M) * BLOCK_M
    for start_m in range(0, end, BLOCK_M):
        rows = start_m + offs_m
        q = tl.load(q_ptrs)
        qk = tl.dot(q, tl.trans(k))
        m = tl.load(m_ptrs + rows)
        p = tl.exp(qk * softmax_scale - m[:, None])

        do = tl.load(do_ptrs)
        dv += tl.dot(tl.trans(p.to(Q.dtype.element_ty)), do)

        delta = tl.load(delta_ptrs + rows)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - delta[:, None]) * softmax_scale).to(Q.dtype.element_ty)
        dk += tl.dot(tl.trans(ds), q)

        if TRANSPOSED:
            dq = tl.trans(tl.dot(tl.trans(k), tl.trans(ds)))
        else:
            dq = tl.dot(ds, k)
        tl.atomic_add(dq_ptrs, dq)

        q_ptrs += BLOCK_M * stride_qm
        do_ptrs += BLOCK_M * stride_om
        dq_ptrs += BLOCK_M * stride_dqm

    dk_ptrs = DK + (offs_n[:, None] * stride_dkn + offs_k[None, :] * stride_dkk)
    dv_ptrs = DV + (offs_n[:, None] * stride_dvn + offs_k[None, :] * stride_dvk)
    tl.store(dk_ptrs, dk.to(DK.dtype.element_ty))
    tl.store(dv_ptrs, dv.to(DV.dtype.element_ty))
