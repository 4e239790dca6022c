"""Reads trace/10 files as doc/spec/trace.md 1 to 6 says: framing, JSON, fields, sequence. Independent of the C sources: its tables were
written from the text, so that a fault in ours shows.

read(source) gives a Trace or raises Rejected. Records are handed to `each(index, record)` as they are decoded and only what health needs
is kept, so a trace of a million records fits.
"""
import json
import re
import sys

WHITE = ''.join(map(chr, [*range(9, 14), 0x20, 0x85, 0xa0, 0x1680, *range(0x2000, 0x200b), 0x2028, 0x2029, 0x202f, 0x205f, 0x3000]))
U64_MAX = 2**64 - 1
SCHEMAS = ('candle-graph/trace/10', 'candle-graph/trace/9')

REQUIRED, DEFAULT, OPTIONAL = range(3)
ENUMS = {
    'SpanKind': ('function', 'op', 'module'),
    'Step': ('forward', 'backward', 'optimizer'),
    'Phase': ('train', 'infer'),
    'TimingMode': ('host', 'device_synchronized'),
    'RunOutcome': ('complete', 'failed'),
    'GradientState': ('present', 'missing', 'zero', 'non_finite'),
    'MemoryAction': ('alloc', 'free'),
    'MemoryCategory': ('parameter', 'activation', 'gradient', 'optimizer', 'other'),
    'CoverageLevel': ('none', 'partial', 'complete'),
    'MeasurementScope': ('unknown', 'profiled_work', 'production_equivalent'),
    'FamilyExpectation': ('active', 'inactive', 'data_conditional'),
    'edge_kind': ('call', 'data'),
}


def fields(text):
    """'name type[?|=]' one after another, separated by commas: '?' optional, '=' has a default, else required."""
    table = {}
    for item in text.replace('\n', ' ').split(','):
        name, kind = item.split()
        presence = {'?': OPTIONAL, '=': DEFAULT}.get(kind[-1], REQUIRED)
        table[name] = (kind.rstrip('?='), presence)
    return table


OBJECTS = {
    'comparison_identity': fields('''implementation_id str?, workload_id str, model_id str, config_id str, data_id str, seed_policy str,
        physical_batch u64, accumulation_steps u64, precision str, device_state str, pair_id str?'''),
    'capture_contract': fields('''measurement_scope MeasurementScope, operations CoverageLevel, activations CoverageLevel=,
        tensors CoverageLevel=, gradients CoverageLevel=,
        gradient_contract gradient_contract?, logical_memory CoverageLevel, physical_memory CoverageLevel, device_timing CoverageLevel,
        required_semantic_labels [str]=, gpu_expected_semantic_labels [str]=, cpu_only_semantic_labels [str]='''),
    'gradient_contract': fields('manifest_sha256 str, expected [entry], families [family]'),
    'entry': fields('root str, key str, family str'),
    'family': fields('family str, expectation FamilyExpectation, min_present u64'),
}
KINDS = {
    'meta': fields('''schema str, run_id str, correlation_id str, entrypoint str, phase Phase, timestamp str, capture_step u64,
        warmup_steps u64, device str, measured_region_device_synchronized bool=, timing_mode TimingMode, capture_contract capture_contract,
        comparison_identity comparison_identity?, tags tags, candle_version str?'''),
    'span_start': fields('id str, parent_id str?, name str, start_ns u64, span_kind SpanKind, measured bool=, step Step?'),
    'span_end': fields('id str, duration_ns u64='),
    'op': fields('''span_id str, op_name str, inputs [str]=, output str?, shape [u64], dtype str, device str, duration_ns u64,
        timestamp_ns u64=, output_dense_bytes u64?, input_dense_bytes u64'''),
    'tensor': fields('''span_id str, tensor_id str, label str?, shape [u64], dtype str, device str, requires_grad bool=,
        dense_bytes u64?, category MemoryCategory='''),
    'tensor_stats': fields('''span_id str, label str, shape [u64], dtype str, elements u64, non_finite u64, rms f64, abs_max f64,
        mean f64'''),
    'memory': fields('''timestamp_ns u64, storage_id str, tensor_id str, span_id str, op_name str?, device str, bytes u64,
        action MemoryAction, shape [u64]=, dtype str, category MemoryCategory='''),
    'device_memory': fields('''timestamp_ns u64, device str, used_bytes u64?, free_bytes u64?, reserved_bytes u64?,
        capacity_bytes u64?'''),
    'device_interval': fields('''span_id str, device str, stream_id str, clock_id str, backend str, start_ns u64, duration_ns u64'''),
    'gradient': fields('event_id str, root str, key str, state GradientState, norm f64?'),
    'edge': fields('edge_kind edge_kind'),
    'terminal': fields('outcome RunOutcome, timestamp_ns u64, reason str?'),
}
EDGES = {
    'call': fields('edge_kind edge_kind, from_span str, to_span str, host_duration_ns u64'),
    'data': fields('edge_kind edge_kind, from_tensor str, to_tensor str'),
}


class Rejected(Exception):
    """The file is not a trace. code: that of doc/spec/trace.md 6; line: from 1, 0 for the whole stream."""

    def __init__(self, code, line, text):
        super().__init__(f'line {line}: {code}: {text}' if line else f'{code}: {text}')
        self.code, self.line = code, line


class Bad(Exception):
    """One line's fault: code and text."""


class Repeated(dict):
    """A JSON object in which keys occur more than once."""
    __slots__ = ('keys_again',)


def blank(text):
    return not text.strip(WHITE)


def sat(value):
    return min(value, U64_MAX)


# ---- JSON (section 2) ----

def _object(pairs):
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    seen, again = set(), set()
    for key, _ in pairs:
        (again if key in seen else seen).add(key)
    repeated = Repeated(plain)
    repeated.keys_again = again
    return repeated


def _float(literal):
    value = float(literal)
    if value in (float('inf'), float('-inf')):
        raise Bad('L10', f'number {literal[:40]} is over the double range')
    return value


def _int(literal):
    """Class U and I as int, class F as float (section 2.4)."""
    if literal == '-0':
        return -0.0
    if len(literal) > 19:
        if len(literal) > 20:
            return _float(literal)
        value = int(literal)
        return value if -2**63 <= value <= U64_MAX else float(value)
    return int(literal)


def _constant(literal):
    raise Bad('L2', f'{literal} is not JSON')


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant)
ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|[^u])')


def _check_surrogates(text):
    """Every surrogate escape belongs to a pair. The text is JSON that decoded, so a backslash only stands in strings."""
    high_end = None
    for match in ESCAPE.finditer(text):
        unit = int(match.group(1), 16) if match.group(1) else 0
        if high_end is not None and (match.start() != high_end or not 0xdc00 <= unit <= 0xdfff):
            raise Bad('L2', 'surrogate escape without its other half')
        if 0xdc00 <= unit <= 0xdfff and high_end is None:
            raise Bad('L2', 'surrogate escape without its other half')
        high_end = match.end() if 0xd800 <= unit <= 0xdbff else None
    if high_end is not None:
        raise Bad('L2', 'surrogate escape without its other half')


def _depth(text):
    """Greatest nesting of arrays and objects of a JSON text that decoded."""
    depth = deepest = 0
    for char in re.sub(r'"(?:[^"\\]|\\.)*"', '', text):
        if char in '[{':
            depth += 1
            deepest = max(deepest, depth)
        elif char in ']}':
            depth -= 1
    return deepest


def decode(text):
    """The JSON value of one line, or Bad."""
    if text.count('[') + text.count('{') > 127 and _depth(text) > 127:
        raise Bad('L9', 'nesting over 127 levels')
    try:
        value = DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Bad('L2', f'not one JSON value: {error}') from None
    if '\\u' in text:
        _check_surrogates(text)
    return value


# ---- fields (sections 2.4 to 2.7, 3, 4) ----

def _check_value(kind, value, where):
    """The value when it is of the kind, else Bad."""
    if kind == 'str':
        if type(value) is str:
            return value
    elif kind == 'u64':
        if type(value) is int and 0 <= value:
            return value
    elif kind == 'f64':
        if type(value) in (int, float):
            return float(value)
    elif kind == 'bool':
        if type(value) is bool:
            return value
    elif kind in ENUMS:
        if type(value) is str:
            if value in ENUMS[kind]:
                return value
            raise Bad('L8', f'{where}: "{value}" is none of {", ".join(ENUMS[kind])}')
    elif kind[0] == '[':
        if type(value) is list:
            return [_check_value(kind[1:-1], item, where) for item in value]
    elif kind == 'tags':
        if isinstance(value, dict) and all(type(v) is str for v in value.values()):
            return value
    elif isinstance(value, dict):
        return check_object(OBJECTS[kind], value, where + '.')
    raise Bad('L6', f'{where}: {json.dumps(value)[:60]} is not of type {kind}')


ABSENT = object()


def check_object(table, value, where=''):
    """The object with its known fields checked; optional ones that are null are taken out. Unknown ones stay."""
    if type(value) is Repeated and (again := [key for key in value.keys_again if key in table]):
        raise Bad('L7', f'{where}{again[0]} is given twice')
    for name, (kind, presence) in table.items():
        got = value.get(name, ABSENT)
        if got is ABSENT:
            if presence == REQUIRED:
                raise Bad('L5', f'{where}{name} is missing')
        elif kind == 'u64':
            if type(got) is int and got >= 0:
                continue
            if got is None and presence == OPTIONAL:
                del value[name]
                continue
            raise Bad('L6', f'{where}{name}: {json.dumps(got)[:60]} is not of type u64')
        elif kind == 'str' and type(got) is str:
            continue
        elif got is None and presence == OPTIONAL:
            del value[name]
        else:
            value[name] = _check_value(kind, got, where + name)
    return value


def check_record(value):
    """(kind, record) of one decoded line."""
    if not isinstance(value, dict):
        raise Bad('L3', 'a record is an object')
    kind = value.get('kind')
    if type(kind) is not str or kind not in KINDS:
        raise Bad('L4', 'kind is missing or none of the twelve')
    if type(value) is Repeated and 'kind' in value.keys_again:
        raise Bad('L4', 'kind is given twice')
    check_object(KINDS[kind], value)
    if kind == 'edge':
        check_object(EDGES[value['edge_kind']], value)
    return kind, value


# ---- the stream (sections 1 and 6) ----

class Span:
    __slots__ = ('id', 'parent', 'name', 'start', 'duration', 'closed', 'measured', 'step')

    @property
    def end(self):
        return sat(self.start + self.duration)


class Trace:
    """What health needs of an accepted stream."""

    def __init__(self):
        self.meta = self.terminal = None
        self.spans = {}
        self.ops = []        # (span_id, op_name, start, end)
        self.memory = []     # (time, device, storage, bytes, action, tensor, span_id)
        self.references = {'tensor': [], 'tensor_stats': [], 'device_interval': []}  # span ids
        self.tensor_ids = set()
        self.zero_intervals = []
        self.samples = self.empty_samples = 0
        self.gradients = []
        self.edges = []
        self.latest = 0
        self.records = 0
        self.ends_with_newline = True
        self.repeated_extras = []  # (line, names): legal, but no producer has a reason for them

    def span_list(self):
        return sorted(self.spans.values(), key=lambda span: span.id.encode())


def valid_stats(record):
    product = 1
    for dimension in record['shape']:
        product *= dimension
        if product > U64_MAX:
            return False
    finite = all(abs(record[name]) != float('inf') and record[name] == record[name] for name in ('rms', 'abs_max', 'mean'))
    return (not blank(record['label']) and product == record['elements'] and record['non_finite'] <= record['elements'] and finite
            and record['rms'] >= 0 and record['abs_max'] >= 0)


def _take(trace, kind, record):
    """Adds one record; Bad when it may not stand here (section 6.2)."""
    if trace.terminal is not None:
        raise Bad('R1', 'a record after the terminal one')
    if (kind == 'meta') != (trace.records == 0):
        raise Bad('R2' if kind == 'meta' else 'E1', 'meta must be the first record, and only that')
    if kind == 'op':
        start = record.get('timestamp_ns', 0)
        end = sat(start + record['duration_ns'])
        trace.latest = max(trace.latest, end)
        trace.ops.append((sys.intern(record['span_id']), sys.intern(record['op_name']), start, end))
        trace.tensor_ids.update(record.get('inputs', ()))
        if 'output' in record:
            trace.tensor_ids.add(record['output'])
    elif kind == 'memory':
        trace.latest = max(trace.latest, record['timestamp_ns'])
        trace.memory.append((record['timestamp_ns'], sys.intern(record['device']), record['storage_id'], record['bytes'],
                             record['action'], record['tensor_id'], sys.intern(record['span_id'])))
    elif kind == 'span_start':
        if record['id'] in trace.spans:
            raise Bad('R3', f'span {record["id"]} was started before')
        span = Span()
        span.id, span.parent, span.name, span.start = record['id'], record.get('parent_id'), record['name'], record['start_ns']
        span.measured, span.step, span.duration, span.closed = record.get('measured', False), record.get('step'), 0, False
        trace.spans[span.id] = span
    elif kind == 'span_end':
        span = trace.spans.get(record['id'])
        if span is None:
            raise Bad('R4', f'span {record["id"]} ends before it starts')
        if span.closed:
            raise Bad('R5', f'span {record["id"]} has ended before')
        span.closed, span.duration = True, record.get('duration_ns', 0)
    elif kind == 'device_memory':
        trace.latest = max(trace.latest, record['timestamp_ns'])
        trace.samples += 1
        if not any(name in record for name in ('used_bytes', 'free_bytes', 'reserved_bytes', 'capacity_bytes')):
            trace.empty_samples += 1
    elif kind == 'gradient':
        trace.gradients.append(record)
    elif kind == 'edge':
        trace.edges.append(record)
    elif kind in ('meta', 'terminal'):
        setattr(trace, kind, record)
    else:
        if kind == 'tensor_stats' and not valid_stats(record):
            raise Bad('R6', 'tensor statistics are not valid')
        trace.references[kind].append(record['span_id'])
        if kind == 'tensor':
            trace.tensor_ids.add(record['tensor_id'])
        if kind == 'device_interval' and record['duration_ns'] == 0:
            trace.zero_intervals.append(record['span_id'])
    trace.records += 1


def _finish(trace):
    """Section 6.3."""
    if trace.meta is None:
        raise Rejected('E1', 0, 'no meta')
    if trace.terminal is None:
        raise Rejected('E2', 0, 'no terminal')
    if trace.meta['schema'] not in SCHEMAS:
        raise Rejected('E3', 0, f'schema {trace.meta["schema"]}')
    if trace.meta['schema'] == SCHEMAS[1] and trace.references['tensor_stats']:
        raise Rejected('E4', 0, 'tensor_stats in a trace/9')
    outcome, reason = trace.terminal['outcome'], trace.terminal.get('reason')
    if outcome == 'complete' and reason is not None:
        raise Rejected('E5', 0, 'complete with a reason')
    if outcome == 'failed' and (reason is None or blank(reason)):
        raise Rejected('E6', 0, 'failed without a reason')
    for span in trace.spans.values():
        trace.latest = max(trace.latest, span.end)
    if trace.terminal['timestamp_ns'] < trace.latest:
        raise Rejected('E7', 0, f'terminal at {trace.terminal["timestamp_ns"]} precedes evidence at {trace.latest}')


def read(source, each=None):
    """The Trace of a path or of bytes; each(record) is called for every record in file order."""
    if isinstance(source, bytes):
        lines = source.split(b'\n')
        lines = [line + b'\n' for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        return _read_lines(lines, each)
    with open(source, 'rb') as file:
        return _read_lines(file, each)


def _read_lines(lines, each):
    trace = Trace()
    raw = b'\n'
    for number, raw in enumerate(lines, 1):
        try:
            text = raw.decode().strip(WHITE)
        except UnicodeDecodeError as error:
            raise Rejected('L1', number, f'not UTF-8: {error}') from None
        if not text:
            continue
        try:
            value = decode(text)
            kind, record = check_record(value)
            _take(trace, kind, record)
        except Bad as bad:
            raise Rejected(bad.args[0], number, bad.args[1]) from None
        if type(record) is Repeated:
            trace.repeated_extras.append((number, sorted(record.keys_again)))
        if each is not None:
            each(record)
    trace.ends_with_newline = raw.endswith(b'\n')
    _finish(trace)
    return trace
