//! Decompression of iguana against zstd, and compression, over the same pieces of JSON.

use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zion::codec::{iguana, zstd};

const PIECE: usize = 256 << 10;
const PIECES: usize = 16;
const LEVEL: i32 = 3;

/// Where real rows are, if they are.
fn sample() -> Option<Vec<u8>> {
    let path = std::env::var_os("SDB_BENCH_JSON").map(PathBuf::from)?;
    let mut data = vec![];
    std::fs::File::open(path).ok()?.take((PIECE * PIECES) as u64).read_to_end(&mut data).ok()?;
    Some(data)
}

/// Rows that look like events, when there are no real ones.
fn generated() -> Vec<u8> {
    let mut data = vec![];
    let mut state = 1u64;
    while data.len() < PIECE * PIECES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (id, kind) = (state >> 40, ["push", "fork", "watch", "issue"][(state >> 33) as usize % 4]);
        let row = format!(
            "{{\"id\":{id},\"type\":\"{kind}\",\"actor\":{{\"login\":\"user{}\"}},\"public\":true}}\n",
            id % 977
        );
        data.extend_from_slice(row.as_bytes());
    }
    data
}

fn bench(c: &mut Criterion) {
    let data = sample().unwrap_or_else(generated);
    let pieces: Vec<&[u8]> = data.chunks(PIECE).collect();
    let mut encoder = iguana::Encoder::new();
    let Ok(mut compressor) = zstd::Compressor::new(LEVEL) else { return };
    let (mut packed, mut frames) = (vec![], vec![]);
    for piece in &pieces {
        let (mut buffer, mut frame) = (vec![], vec![]);
        encoder.compress(piece, &mut buffer);
        if compressor.compress(piece, &mut frame).is_err() {
            return;
        }
        packed.push(buffer);
        frames.push(frame);
    }
    let size = |buffers: &[Vec<u8>]| buffers.iter().map(Vec::len).sum::<usize>();
    let mut group =
        c.benchmark_group(format!("{} bytes, iguana {}, zstd {}", data.len(), size(&packed), size(&frames)));
    group.throughput(Throughput::Bytes(data.len() as u64));
    let mut out = vec![];
    group.bench_function("iguana decode", |b| {
        let mut decoder = iguana::Decoder::default();
        b.iter(|| packed.iter().all(|buffer| decoder.decompress(black_box(buffer), &mut out, PIECE).is_ok()));
    });
    if let Ok(mut decompressor) = zstd::Decompressor::new(false) {
        group.bench_function("zstd decode", |b| {
            b.iter(|| {
                frames.iter().all(|frame| decompressor.decompress(black_box(frame), &mut out, PIECE).is_ok())
            });
        });
    }
    group.sample_size(10);
    group.bench_function("iguana encode", |b| {
        b.iter(|| {
            for piece in &pieces {
                out.clear();
                encoder.compress(black_box(piece), &mut out);
            }
        });
    });
    group.bench_function("zstd encode", |b| {
        b.iter(|| {
            pieces.iter().all(|piece| {
                out.clear();
                compressor.compress(black_box(piece), &mut out).is_ok()
            })
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
