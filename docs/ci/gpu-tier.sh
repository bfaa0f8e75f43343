#!/usr/bin/env bash
# Everything that needs a GPU, step by step. It builds and fetches nothing, so it runs on a machine without Rust or network.
#
# usage: gpu-tier.sh OUT [STEP...]
#   doctor        list the installed libraries and check that they load
#   suites        run the tests that need a GPU
#   recurs        check whether the stored findings recur
#   conv-V        1,050 cases of conv and deconv against TensorRT V, through its parser and layer by layer
#   quantized-V   8 minutes of qdq-conv and qdq-deconv at the default level
#   catalogue-V   record the results of TensorRT V on the reported bugs and the topics
#   catalogue-ort record the results of ONNX Runtime CUDA on the reported bugs and the topics
#   rates         each backend alone, the naive loop, and 8 minutes of a campaign with a ladder, with its memory use sampled
#
# Each step writes OUT/STEP.log, and its run to OUT/runs/STEP. A step that succeeded is not repeated; an interrupted
# campaign resumes. Environment:
#   TWINFER        the release binary                       [target/release/twinfer]
#   GOLDEN         the folder of stored cases; catalogue-* records into it   [golden]
#   SUITES         a folder with the compiled tests live, gpu and golden_cases   [none: suites and recurs are skipped]
#   TENSORRT_V, ONNXRUNTIME   libraries for the suites, by version: TENSORRT_8_6=/path
#   DEVICES        the GPUs of the campaigns, 0,1   [all visible GPUs]
#   CUDA, TRT, TRT_API   the names of the backends; replace them to try the script without a GPU   [ort:cuda, trt, trt-api]
#   SCREENED_CUDA, SCREENED_TRT   the backends of rates and quantized-*, without graphs that crash or hang workers
#                  [ort:cuda,hazards=skip, trt,hazards=skip]
#
# Start MPS first (docs/campaigns.md), so that builds at the default level can share a GPU.
#
# Steps may run at the same time, also on the same GPUs; each then takes longer.
set -uo pipefail

[ $# -gt 0 ] || { sed -n '4,/^set /{/^set /!p}' "$0"; exit 2; }
out=$1
shift
twinfer=${TWINFER:-target/release/twinfer}
golden=${GOLDEN:-golden}
cuda=${CUDA:-ort:cuda}
screened_cuda=${SCREENED_CUDA:-${CUDA:-ort:cuda,hazards=skip}}
trt=${TRT:-trt}
screened_trt=${SCREENED_TRT:-${TRT:-trt,hazards=skip}}
api=${TRT_API:-trt-api}
default_steps="doctor suites recurs conv-8.5 quantized-8.6 quantized-8.5 catalogue-8.6 catalogue-8.5 catalogue-ort rates"
mkdir -p "$out/runs"

of_version() { # VERSION: prints the option that selects it
  [ -n "$1" ] && echo ",version=$1"
}

lowest_level() { # VERSION: 8.5 and older have no levels
  case $1 in 8.[0-5]*) ;; *) echo ,level=0 ;; esac
}

campaign() { # STEP OPTION...: starts or resumes a campaign; new findings (exit code 1) are a success here
  local run=$out/runs/$1 options=()
  shift
  [ -e "$run/run.json" ] && options+=(--resume)
  [ -n "${DEVICES:-}" ] && options+=(--devices "$DEVICES")
  "$twinfer" fuzz --out "$run" --known "$golden/cases" "${options[@]}" "$@"
  [ $? -le 1 ]
}

suites() {
  [ -d "${SUITES:-}" ] || { echo "skipped: SUITES names no folder"; return 0; }
  local failed=0 version library
  for version in 8_6 8_5; do
    library=TENSORRT_$version
    [ -n "${!library:-}" ] || continue
    echo "== TensorRT ${version/_/.}"
    TWINFER_TENSORRT=${!library} TWINFER_ONNXRUNTIME=${ONNXRUNTIME:-} "$SUITES/gpu" --nocapture || failed=1
    TWINFER_TENSORRT=${!library} "$SUITES/live" --nocapture || failed=1
  done
  return $failed
}

recurs() {
  [ -x "${SUITES:-}/golden_cases" ] || { echo "skipped: SUITES holds no golden_cases"; return 0; }
  TWINFER_GOLDEN=$golden TWINFER_BINARY=$twinfer "$SUITES/golden_cases" recurs
}

conv() { # VERSION
  local options
  options=$(lowest_level "$1")$(of_version "$1")
  campaign "conv-$1" --backends "golden,$cuda,$trt$options,$api$options" --family conv,deconv --cases 1050 --seed 12
}

quantized() { # VERSION
  campaign "quantized-$1" --backends "golden,$screened_cuda,$screened_trt$(of_version "$1")" --family qdq-conv,qdq-deconv --time 8m --seed 42
}

catalogue() { # BACKENDS: one folder at a time, so that each result is stored as soon as it is known
  local folder
  for folder in "$golden/catalogue" "$golden/cases/topics"; do
    "$twinfer" check "$folder" --backends "golden,$1" --record
    [ $? -le 1 ] || return 1
  done
}

rates() {
  local screened="golden,$screened_cuda,$screened_trt$(lowest_level 8.6)$(of_version 8.6)"
  memory & local sampler=$!
  "$twinfer" bench --backends "$screened" --family conv,deconv,qdq-conv,qdq-deconv --only naive --time 90s &&
    "$twinfer" bench --backends "$screened" --family conv,deconv,qdq-conv,qdq-deconv --only bare --time 30s --processes 1,8,16 &&
    campaign rates --backends "$screened" --family conv,deconv,qdq-conv,qdq-deconv --time 8m --seed 31 --ladder 10%
  local ended=$?
  kill "$sampler"
  return $ended
}

memory() { # logs the memory of every twinfer process in kilobytes, twice a minute
  while sleep 30; do
    date +%s
    ps -eo pid,rss,etimes,args --sort pid | grep '[t]winfer'
  done > "$out/memory.log"
}

step() { # NAME
  case $1 in
    doctor) "$twinfer" backends doctor && "$twinfer" backends list ;;
    suites) suites ;;
    recurs) recurs ;;
    conv-*) conv "${1#conv-}" ;;
    quantized-*) quantized "${1#quantized-}" ;;
    catalogue-ort) catalogue "$cuda" ;;
    catalogue-*) catalogue "$trt$(of_version "${1#catalogue-}"),$api$(of_version "${1#catalogue-}")" ;;
    rates) rates ;;
    *) echo "no step '$1'"; return 2 ;;
  esac
}

failed=0
for name in ${*:-$default_steps}; do
  [ -e "$out/$name.done" ] && continue
  began=$SECONDS
  if step "$name" > "$out/$name.log" 2>&1; then
    touch "$out/$name.done"
    ended=done
  else
    failed=1
    ended=failed
  fi
  echo "$name $ended after $((SECONDS - began)) s, $out/$name.log"
done
exit $failed
