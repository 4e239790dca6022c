#!/usr/bin/env python3
"""The checker against the vectors of doc/spec/trace.md 16 and the conformance traces: a fault let through here would hide faults of ours."""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from check_trace import check, health, manifest_digest  # noqa: E402
from trace_reader import Rejected, read  # noqa: E402

META = ('{"kind":"meta","schema":"candle-graph/trace/10","run_id":"r","correlation_id":"c","entrypoint":"e","phase":"infer","timestamp":"t",'
        '"capture_step":1,"warmup_steps":0,"device":"cpu","timing_mode":"host","capture_contract":{"measurement_scope":"unknown",'
        '"operations":"none","logical_memory":"none","physical_memory":"none","device_timing":"none"},"tags":{}}')
SPAN = '{"kind":"span_start","id":"a","name":"a","start_ns":0,"span_kind":"function","measured":true}'
END = '{"kind":"span_end","id":"a","duration_ns":5}'
TERMINAL = '{"kind":"terminal","outcome":"complete","timestamp_ns":5}'
MINIMAL = [META, SPAN, END, TERMINAL]
MAX = 2**64 - 1


def stream(lines):
    return b''.join((line if isinstance(line, bytes) else line.encode()) + b'\n' for line in lines)


def code(data):
    """Code of the rejection, None when accepted."""
    try:
        read(data if isinstance(data, bytes) else stream(data))
    except Rejected as rejected:
        return rejected.code
    return None


def with_line(line):
    return [META, SPAN, line, END, TERMINAL]


def lines():
    """16.1: (line, whether it is accepted after META and a span)."""
    end = '{"kind":"span_end","id":"a"%s}'
    yield '{"id":"a","kind":"span_end"}', True
    yield end % ',"duration_ns":null', False
    yield end % ',"duration_ns":5', True
    for number in ('18446744073709551616', '5.0', '5e0', '-5', '-0', '"5"', 'true', '05'):
        yield end % f',"duration_ns":{number}', False
    yield end % ',"x":1,"x":2', True
    yield end % ',"id":"a"', False
    yield '{"kind":"span_end","kind":"span_end","id":"a"}', False
    yield '{"k\\u0069nd":"span\\u005fend","id":"a"}', True
    for value in ('1e999', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud800\\u0041"', 'tru', '"\\q"', '"\x01"', '"\x1f"', 'NaN', '-Infinity', '1.', '.5', '+1', '1e'):
        yield end % f',"x":{value}', False
    for value in ('123456789012345678901234567890', '"\\ud83d\\ude00"', '"\\u0000"', '"\x7f\u2028"', '"\\\\ud800"', '-0', '1e-400', '9' * 308):
        yield end % f',"x":{value}', True
    yield end % f',"x":{"9" * 400}', False
    for line in ('{"kind":"span_end","id":"a"} x', '{}', '[]', 'null', '"span_end"', '42', '{"kind":"Span_end","id":"a"}', '{"kind":0,"id":"a"}'):
        yield line, False


def records():
    """16.1, whole records beside the span: (line, accepted)."""
    gradient = '{"kind":"gradient","event_id":"g","root":"r","key":"k","state":%s}'
    for rest in ('"present","norm":1', '"present","norm":-0', '"present","norm":1e-400', '"present","norm":null'):
        yield gradient % rest, True
    for rest in ('"present","norm":"NaN"', '"present","norm":NaN', '"present","norm":1e400', '"present","norm":true', '{"present":null}',
                 '{"present":{}}', '{"present":[]}', '["present"]', '0', '{}', '"nonfinite"'):
        yield gradient % rest, False
    yield '{"kind":"gradient","event_id":"g","root":"r","param_key":"k","state":"missing"}', False
    yield '{"kind":"edge","edge_kind":0,"from_span":"a","to_span":"b","host_duration_ns":1}', False
    yield '{"kind":"edge","edge_kind":"data","from_tensor":"a","to_tensor":"b","from_span":3}', True
    yield '{"kind":"edge","edge_kind":"call","from_span":"a","to_span":"b"}', False
    tensor = '{"kind":"tensor","span_id":"r","tensor_id":"t","shape":[],"dtype":"f32","device":"cpu"%s}'
    yield tensor % ',"category":null', False
    yield tensor % '', True
    yield '{"kind":"device_memory","timestamp_ns":1,"device":"d"}', True
    stats = '{"kind":"tensor_stats","span_id":"a","label":%s,"shape":%s,"dtype":"f32","elements":%d,"non_finite":%d,"rms":%s,"abs_max":%s,"mean":0}'
    for bad in (('"l"', '[2,3]', 5, 0, '0', '0'), ('"l"', '[2,3]', 6, 7, '0', '0'), ('"l"', '[2]', 2, 0, '-1', '0'), ('"l"', '[2]', 2, 0, '0', '-0.5'),
                ('" \\t"', '[2]', 2, 0, '0', '0'), ('"l"', f'[{MAX},2,0]', 0, 0, '0', '0'), ('"l"', '[2]', 2, 0, 'null', '0')):
        yield stats % bad, False
    for good in (('"l"', f'[0,{MAX},2]', 0, 0, '0', '0'), ('"l"', '[]', 1, 0, '0', '0'), ('"l"', '[2]', 2, 0, '-0.0', '0'), ('"l"', '[2]', 2, 0, '100', '2')):
        yield stats % good, True


def streams():
    """16.2: (what, stream, code expected)."""
    yield 'CRLF', b''.join(line.encode() + b'\r\n' for line in MINIMAL), None
    yield 'no final newline', stream(MINIMAL)[:-1], None
    yield 'blank lines', ['', ' \t', META, '\u3000', SPAN, '', END, '\u0085', TERMINAL, '', '\u00a0'], None
    yield 'Unicode white space around a line', [META, '\u00a0' + SPAN + '\u3000\u0085', '\v' + END + '\f', TERMINAL], None
    yield 'byte order mark', b'\xef\xbb\xbf' + stream(MINIMAL), 'L2'
    yield 'U+200B on a line', [META, '\u200b', SPAN, END, TERMINAL], 'L2'
    yield 'U+001C on a line', [META, '\x1c', SPAN, END, TERMINAL], 'L2'
    yield 'lone CR between records', META.encode() + b'\r' + stream(MINIMAL[1:]), 'L2'
    yield 'byte 0xFF', [META, SPAN, b'{"kind":"span_end","id":"\xff"}', TERMINAL], 'L1'
    yield 'bytes after the terminal', [*MINIMAL, b'\xff'], 'L1'
    yield '127 levels', with_line('{"kind":"device_memory","timestamp_ns":1,"device":"d","x":' + '[' * 126 + ']' * 126 + '}'), None
    yield '128 levels', with_line('{"kind":"device_memory","timestamp_ns":1,"device":"d","x":' + '[' * 127 + ']' * 127 + '}'), 'L9'
    yield '100000 levels', with_line('{"kind":"device_memory","timestamp_ns":1,"device":"d","x":' + '[' * 100000 + ']' * 100000 + '}'), 'L9'
    yield 'brackets in strings', with_line('{"kind":"device_memory","timestamp_ns":1,"device":"d","x":"' + '[\\"' * 200 + '"}'), None
    yield 'terminal too early', [META, SPAN, END, TERMINAL.replace('5', '4')], 'E7'
    yield 'empty reason, complete', [META, SPAN, END, TERMINAL[:-1] + ',"reason":""}'], 'E5'
    yield 'null reason', [META, SPAN, END, TERMINAL[:-1] + ',"reason":null}'], None
    yield 'failed, blank reason', [META, SPAN, END, '{"kind":"terminal","outcome":"failed","timestamp_ns":5,"reason":"\u3000\u00a0"}'], 'E6'
    yield 'end before start', [META, END, SPAN, TERMINAL], 'R4'
    yield 'second start', [META, SPAN, SPAN, END, TERMINAL], 'R3'
    yield 'second end', [META, SPAN, END, END, TERMINAL], 'R5'
    yield 'after the terminal', [*MINIMAL, SPAN.replace('"a"', '"b"')], 'R1'
    yield 'second terminal', [*MINIMAL, TERMINAL], 'R1'
    yield 'meta second', [META, META, SPAN, END, TERMINAL], 'R2'
    yield 'no meta', MINIMAL[1:], 'E1'
    yield 'empty file', b'', 'E1'
    yield 'no terminal', MINIMAL[:-1], 'E2'
    yield 'cut inside a line', stream(MINIMAL)[:-9], 'L2'
    yield 'trace/9', [META.replace('trace/10', 'trace/9'), *MINIMAL[1:]], None
    yield 'trace/9 with tensor_stats', [META.replace('trace/10', 'trace/9'), *with_line(
        '{"kind":"tensor_stats","span_id":"a","label":"l","shape":[],"dtype":"f32","elements":1,"non_finite":0,"rms":0,"abs_max":0,"mean":0}')[1:]], 'E4'
    yield 'trace/11', [META.replace('trace/10', 'trace/11'), *MINIMAL[1:]], 'E3'
    yield 'tags given twice', [META.replace('"tags":{}', '"tags":{"a":"1","a":"2"}'), *MINIMAL[1:]], None
    yield 'schema given twice', [META.replace('"run_id"', '"schema":"candle-graph/trace/10","run_id"'), *MINIMAL[1:]], 'L7'
    yield 'contract field given twice', [META.replace('"operations":"none"', '"operations":"none","operations":"none"'), *MINIMAL[1:]], 'L7'


BROKEN = [
    '{"kind":"meta","schema":"candle-graph/trace/10","run_id":"r","correlation_id":"c","entrypoint":"e","phase":"train","timestamp":"t","capture_step":1,'
    '"warmup_steps":1,"device":"cpu","timing_mode":"host","capture_contract":{"measurement_scope":"unknown","operations":"none","logical_memory":"none",'
    '"physical_memory":"none","device_timing":"none","required_semantic_labels":["fwd","fwd","nope"],"gpu_expected_semantic_labels":["fwd","fwd"],'
    '"cpu_only_semantic_labels":["other"]},"tags":{}}',
    '{"kind":"span_start","id":"s1","name":"root","start_ns":0,"span_kind":"function"}',
    '{"kind":"span_start","id":"s10","parent_id":"s1","name":"fwd","start_ns":10,"span_kind":"function","measured":true,"step":"forward"}',
    '{"kind":"span_start","id":"s2","parent_id":"s1","name":"late","start_ns":90,"span_kind":"function"}',
    '{"kind":"span_start","id":"s3","parent_id":"s4","name":"x","start_ns":0,"span_kind":"function"}',
    '{"kind":"span_start","id":"s4","parent_id":"s3","name":"x","start_ns":0,"span_kind":"function"}',
    '{"kind":"span_end","id":"s1","duration_ns":100}', '{"kind":"span_end","id":"s10","duration_ns":50}', '{"kind":"span_end","id":"s2","duration_ns":20}',
    '{"kind":"op","span_id":"s10","op_name":"mm","inputs":["a"],"output":"b","shape":[],"dtype":"f32","device":"cpu","duration_ns":1,"input_dense_bytes":0}',
    *('{"kind":"memory","timestamp_ns":%d,"storage_id":"m","tensor_id":"%s","span_id":"s10","device":"cpu","bytes":%d,"action":"alloc","dtype":"f32"}' % v
      for v in ((20, 'b', 16), (30, 'b', 16), (40, 'b2', 8))),
    '{"kind":"memory","timestamp_ns":25,"storage_id":"m","tensor_id":"b","span_id":"zz","device":"cuda:0","bytes":8,"action":"free","dtype":"f32"}',
    '{"kind":"edge","edge_kind":"call","from_span":"s10","to_span":"s2","host_duration_ns":19}',
    '{"kind":"edge","edge_kind":"data","from_tensor":"a","to_tensor":"q"}',
    '{"kind":"gradient","event_id":"g","root":"vb","key":"w","state":"zero","norm":-0.0}',
    '{"kind":"gradient","event_id":"g","root":"vb","key":" ","state":"present"}',
    '{"kind":"terminal","outcome":"complete","timestamp_ns":200}']
BROKEN_ISSUES = '''run_provenance_invalid child_outside_parent open_span span_cycle open_span span_cycle unknown_span operation_outside_span
    call_edge_hierarchy_mismatch call_edge_duration_mismatch unknown_data_edge_tensor unpaired_free duplicate_allocation allocation_size_mismatch
    retained_allocations gradient_state_norm_inconsistent empty_gradient_parameter_key duplicate_gradient_event_id gradient_state_norm_inconsistent
    tensors_absent physical_memory_absent device_timing_absent backward_absent optimizer_absent duplicate_required_semantic_label
    required_semantic_label_cardinality duplicate_semantic_label_classification overlapping_semantic_label_classification
    unrequired_semantic_label_classification incomplete_semantic_label_partition'''.split()


def conformance():
    """Files whose acceptance or issues differ from what an independent implementation answers."""
    folder = os.path.join(HERE, '..', 'conformance')
    differing, seen = [], 0
    for path in sorted(glob.glob(f'{folder}/traces/*.jsonl')):
        with open(f'{folder}/expected/{os.path.basename(path)[:-6]}.json') as file:
            expected = json.load(file)
        try:
            issues = sorted([severity, name] for severity, name, _ in health(read(path)))
        except Rejected:
            issues = None
        if issues != (None if expected.get('rejected') else expected['health']['issues']):
            differing.append(path)
        seen += 1
    return differing, seen


def main():
    wrong = [(line, good) for line, good in lines() if (code([META, SPAN, line, TERMINAL]) is None) != good]
    tap.equal(wrong, [], 'lines of 16.1')
    tap.equal(code([META, SPAN, '{"kind":"span_end","id":"a","duration_ns":18446744073709551615}',
                    '{"kind":"terminal","outcome":"complete","timestamp_ns":18446744073709551615}']), None, 'greatest u64 accepted')
    wrong = [(line, good) for line, good in records() if (code(with_line(line)) is None) != good]
    tap.equal(wrong, [], 'records of 16.1 and statistics of 16.2')
    for what, data, expected in streams():
        tap.equal(code(data), expected, f'stream: {what}')
    issues = health(read(stream(MINIMAL)))
    tap.equal([i[:2] for i in issues], [('warning', n + '_absent') for n in 'operations tensors logical_memory physical_memory device_timing'.split()],
              'health of the minimal stream')
    issues = health(read(stream(BROKEN)))
    tap.equal([i[1] for i in issues], BROKEN_ISSUES, 'health of the broken stream, in order')
    failed = health(read(stream([*BROKEN[:-1], '{"kind":"terminal","outcome":"failed","timestamp_ns":200,"reason":"x"}'])))
    soft = {'open_span'} | set(BROKEN_ISSUES[-6:])
    tap.equal([i[:2] for i in failed], [issues[0][:2], ('warning', 'capture_failed'),
                                        *((s if c not in soft else 'warning', c) for s, c, _ in issues[1:])], 'the same, failed')
    entries = [dict(root='vb', key='encoder.weight', family='encoder'), dict(root='vb', key='head.bias', family='head')]
    tap.equal([manifest_digest(e)[7:15] for e in ([], entries, entries[::-1])], ['1a7019dd', '7f1983ed', '000cc8c3'], 'manifest digests of 16.4')
    tap.equal(check(stream(MINIMAL)), [], 'a producer may write the minimal stream')
    tap.equal(check(stream(MINIMAL)[:-1]), ['P1: the last line has no line end'], 'P1: last line end')
    tap.equal(check(stream([META.replace('trace/10', 'trace/9'), *MINIMAL[1:]])), ['P1: schema candle-graph/trace/9'], 'P1: schema')
    tap.equal(len(check(stream([META, SPAN, '{"kind":"span_end","id":"a","duration_ns":5,"x":1,"x":2}', TERMINAL]))), 1, 'extra field given twice')
    differing, seen = conformance()
    if seen:
        tap.equal(differing, [], f'acceptance and issues of {seen} conformance traces')
    else:
        tap.skip('acceptance and issues of the conformance traces', 'tests/conformance is not there')
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, data in (('good', stream(MINIMAL)), ('bad', stream(BROKEN))):
            with open(f'{folder}/{name}', 'wb') as file:
                file.write(data)
            p = subprocess.run([sys.executable, f'{HERE}/check_trace.py', f'{folder}/{name}'], capture_output=True, text=True)
            results.append((p.returncode, bool(p.stdout)))
        tap.equal(results, [(0, False), (1, True)], 'exit status and output of the program')
    tap.done()


if __name__ == '__main__':
    main()
