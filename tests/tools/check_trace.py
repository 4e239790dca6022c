#!/usr/bin/env python3
"""Independent checker of trace/10 files: the reader's rules, health (doc/spec/trace.md 10, 11) and the producer's rules P1 to P11 (13.1).

usage: check_trace.py FILE...      one line for each violation; exit status 1 when there is one, 2 for a wrong call
As a module: check(source) gives the violations as strings, health(trace) the issues as (severity, code, text).
"""
import hashlib
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trace_reader import Rejected, U64_MAX, blank, read, sat  # noqa: E402,F401

ERROR, WARNING = 'error', 'warning'


class Health:
    """Runs the steps of 10.1 in order; issues holds (severity, code, text)."""

    def __init__(self, trace):
        self.trace = trace
        self.issues = []
        self.failed = trace.terminal['outcome'] == 'failed'
        self.soft = WARNING if self.failed else ERROR
        for step in (self.run, self.span_set, self.each_span, self.evidence, self.edges, self.pairing, self.gradient_records,
                     self.gradient_manifest, self.absent, self.labels, self.classes):
            step()

    def add(self, severity, code, text=''):
        self.issues.append((severity, code, text))

    def run(self):
        bad = provenance_fault(self.trace.meta)
        if bad:
            self.add(ERROR, 'run_provenance_invalid', bad)
        if self.failed:
            self.add(WARNING, 'capture_failed', self.trace.terminal['reason'])

    def span_set(self):
        roots = sum(span.parent is None for span in self.trace.spans.values())
        if roots != 1:
            self.add(ERROR, 'root_count', f'{roots} spans without a parent')
        measured = sum(span.measured for span in self.trace.spans.values())
        if not self.failed and measured != 1:
            self.add(ERROR, 'measurement_count', f'{measured} measured spans')

    def each_span(self):
        cyclic = cyclic_spans(self.trace.spans)
        for span in self.trace.span_list():
            if not span.closed:
                self.add(self.soft, 'open_span', span.id)
            if span.parent is not None:
                parent = self.trace.spans.get(span.parent)
                if parent is None:
                    self.add(ERROR, 'unknown_parent', f'{span.id} under {span.parent}')
                elif span.closed and parent.closed and (span.start < parent.start or span.end > parent.end):
                    self.add(ERROR, 'child_outside_parent',
                             f'{span.id} [{span.start}, {span.end}] outside {parent.id} [{parent.start}, {parent.end}]')
            if span.id in cyclic:
                self.add(ERROR, 'span_cycle', span.id)

    def evidence(self):
        trace, spans = self.trace, self.trace.spans
        for kind, ids in (('op', (op[0] for op in trace.ops)), ('tensor', trace.references['tensor']),
                          ('tensor_stats', trace.references['tensor_stats']), ('memory', (m[6] for m in trace.memory)),
                          ('device_interval', trace.references['device_interval'])):
            for span_id in ids:
                if span_id not in spans:
                    self.add(ERROR, 'unknown_span', f'{kind} in {span_id}')
        for span_id in trace.zero_intervals:
            self.add(ERROR, 'empty_device_interval', span_id)
        for span_id, name, start, end in trace.ops:
            span = spans.get(span_id)
            if span and span.closed and (start < span.start or end > span.end):
                self.add(ERROR, 'operation_outside_span', f'{name} [{start}, {end}] outside {span_id} [{span.start}, {span.end}]')
        for time, _, storage, _, action, _, span_id in trace.memory:
            span = spans.get(span_id)
            if span and span.closed and not span.start <= time <= span.end:
                self.add(ERROR, 'memory_outside_span', f'{action} of {storage} at {time} outside {span_id} [{span.start}, {span.end}]')
        for _ in range(trace.empty_samples):
            self.add(ERROR, 'empty_device_memory_sample')

    def edges(self):
        for edge in self.trace.edges:
            if edge['edge_kind'] == 'call':
                self.call_edge(edge)
            elif '' in (edge['from_tensor'], edge['to_tensor']):
                self.add(ERROR, 'empty_data_edge_endpoint')
            elif not {edge['from_tensor'], edge['to_tensor']} <= self.trace.tensor_ids:
                self.add(ERROR, 'unknown_data_edge_tensor', f'{edge["from_tensor"]} to {edge["to_tensor"]}')

    def call_edge(self, edge):
        caller, callee = self.trace.spans.get(edge['from_span']), self.trace.spans.get(edge['to_span'])
        text = f'{edge["from_span"]} to {edge["to_span"]}'
        if caller is None or callee is None:
            self.add(ERROR, 'unknown_call_edge_span', text)
            return
        if callee.parent != caller.id:
            self.add(ERROR, 'call_edge_hierarchy_mismatch', text)
        if callee.closed and edge['host_duration_ns'] != callee.duration:
            self.add(ERROR, 'call_edge_duration_mismatch', text)

    def pairing(self):
        live = {}
        for time, device, storage, size, action, tensor, _ in sorted(self.trace.memory, key=lambda m: m[0]):
            key, text = (device, storage), f'{storage} on {device} at {time}'
            held = live.get(key)
            if action == 'alloc':
                if held is None:
                    live[key] = (size, {tensor})
                elif held[0] != size:
                    self.add(ERROR, 'allocation_size_mismatch', text)
                elif tensor in held[1]:
                    self.add(ERROR, 'duplicate_allocation', text)
                else:
                    held[1].add(tensor)
            elif held is None:
                self.add(ERROR, 'unpaired_free', text)
            else:
                if held[0] != size:
                    self.add(ERROR, 'allocation_size_mismatch', text)
                del live[key]
        if live:
            self.add(WARNING, 'retained_allocations', str(len(live)))

    def gradient_records(self):
        seen = set()
        for record in self.trace.gradients:
            event = record['event_id']
            if blank(event):
                self.add(ERROR, 'empty_gradient_event_id')
            if blank(record['root']) or blank(record['key']):
                self.add(ERROR, 'empty_gradient_parameter_key', event)
            if event in seen:
                self.add(ERROR, 'duplicate_gradient_event_id', event)
            seen.add(event)
            if not norm_fits(record['state'], record.get('norm')):
                self.add(ERROR, 'gradient_state_norm_inconsistent', event)

    def gradient_manifest(self):
        declared = self.trace.meta['capture_contract']
        complete, contract = declared.get('gradients', 'none') == 'complete', declared.get('gradient_contract')
        if contract is None:
            if complete:
                self.add(ERROR, 'gradient_contract_missing')
            return
        if not complete:
            self.add(ERROR, 'gradient_contract_without_complete_coverage')
            return
        if fault := contract_fault(contract):
            self.add(ERROR, 'gradient_contract_invalid', fault)
            return
        first, count = {}, {}
        for record in self.trace.gradients:
            key = (record['root'], record['key'])
            first.setdefault(key, record)
            count[key] = count.get(key, 0) + 1
        expected = {(entry['root'], entry['key']) for entry in contract['expected']}
        for key in sorted(count, key=lambda k: (k[0].encode(), k[1].encode())):
            if count[key] != 1:
                self.add(ERROR, 'gradient_manifest_duplicate_key', '/'.join(key))
            if key not in expected:
                self.add(ERROR, 'gradient_manifest_undeclared_key', '/'.join(key))
        for entry in contract['expected']:
            if (entry['root'], entry['key']) not in first:
                self.add(self.soft, 'gradient_manifest_missing_key', f'{entry["root"]}/{entry["key"]}')
        for family in contract['families']:
            self.gradient_family(family, [e for e in contract['expected'] if e['family'] == family['family']], first)

    def gradient_family(self, family, entries, first):
        states = [first[key]['state'] for e in entries if (key := (e['root'], e['key'])) in first]
        judged = not self.failed or len(states) == len(entries)
        present, name = states.count('present'), family['family']
        if 'non_finite' in states:
            self.add(ERROR, 'gradient_family_non_finite', name)
        if family['expectation'] == 'active' and judged and present < family['min_present']:
            self.add(ERROR, 'gradient_active_family_below_minimum', name)
        if family['expectation'] == 'inactive' and any(state != 'missing' for state in states):
            self.add(ERROR, 'gradient_inactive_family_leakage', name)
        if family['expectation'] == 'data_conditional' and judged and 0 < present < family['min_present']:
            self.add(ERROR, 'gradient_conditional_family_below_minimum', name)

    def absent(self):
        trace = self.trace
        train = trace.meta['phase'] == 'train'
        steps = {span.step for span in trace.spans.values()}
        for code, there in (('operations', trace.ops), ('tensors', trace.references['tensor']), ('logical_memory', trace.memory),
                            ('physical_memory', trace.samples), ('device_timing', trace.references['device_interval']),
                            ('gradients', trace.gradients or not train), ('forward', 'forward' in steps or not train),
                            ('backward', 'backward' in steps or not train), ('optimizer', 'optimizer' in steps or not train)):
            if not there:
                self.add(WARNING, code + '_absent')

    def labels(self):
        names = {}
        for span in self.trace.spans.values():
            names[span.name] = names.get(span.name, 0) + 1
        seen = set()
        for label in self.trace.meta['capture_contract'].get('required_semantic_labels', []):
            if blank(label):
                self.add(self.soft, 'empty_required_semantic_label')
            if label in seen:
                self.add(self.soft, 'duplicate_required_semantic_label', label)
            seen.add(label)
            if names.get(label, 0) != 1:
                self.add(self.soft, 'required_semantic_label_cardinality', f'{label}: {names.get(label, 0)} spans')

    def classes(self):
        declared = self.trace.meta['capture_contract']
        required = set(declared.get('required_semantic_labels', []))
        lists = [declared.get('gpu_expected_semantic_labels', []), declared.get('cpu_only_semantic_labels', [])]
        if not lists[0] and not lists[1]:
            return
        union = set()
        for labels in lists:
            own = set()
            for label in labels:
                for wrong, code in ((blank(label), 'empty_semantic_label_classification'),
                                    (label in own, 'duplicate_semantic_label_classification'),
                                    (label not in required, 'unrequired_semantic_label_classification'),
                                    (label in union, 'overlapping_semantic_label_classification')):
                    if wrong:
                        self.add(self.soft, code, label)
                own.add(label)
                union.add(label)
        if union != required:
            self.add(self.soft, 'incomplete_semantic_label_partition')


def provenance_fault(meta):
    """The first failing run field of step 1, or None."""
    for name in ('run_id', 'correlation_id', 'entrypoint', 'timestamp', 'device'):
        if blank(meta[name]):
            return f'{name} is blank'
    if meta['capture_step'] == 0:
        return 'capture_step is 0'
    if meta['warmup_steps'] >= meta['capture_step']:
        return 'warmup_steps is not below capture_step'
    identity = meta.get('comparison_identity')
    if identity is None:
        return None
    for name in ('workload_id', 'model_id', 'config_id', 'data_id', 'seed_policy', 'precision', 'device_state', 'implementation_id',
                 'pair_id'):
        if name in identity and blank(identity[name]):
            return f'{name} is blank'
    for name in ('physical_batch', 'accumulation_steps'):
        if identity[name] == 0:
            return f'{name} is 0'
    return None


def cyclic_spans(spans):
    """Ids of spans on a cycle of parents or below one."""
    answer = {}
    for start in spans:
        path, at = [], start
        on_path = set()
        while at in spans and at not in answer and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = spans[at].parent
        cyclic = at in on_path or answer.get(at, False)
        for span_id in path:
            answer[span_id] = cyclic
    return {span_id for span_id, cyclic in answer.items() if cyclic}


def norm_fits(state, norm):
    if state == 'present':
        return norm is not None and 0 < norm < float('inf')
    if state == 'zero':
        return norm is not None and norm == 0 and not str(norm).startswith('-')
    return norm is None


def manifest_digest(expected):
    digest = hashlib.sha256(b'candle-graph/gradient-manifest/1\0')
    for entry in expected:
        for name in ('root', 'key', 'family'):
            text = entry[name].encode()
            digest.update(struct.pack('<Q', len(text)) + text)
    return 'sha256:' + digest.hexdigest()


def contract_fault(contract):
    """The first failing rule of 11.2, or None."""
    expected, families = contract['expected'], contract['families']
    if not expected or not families:
        return 'no entries or no families'
    if contract['manifest_sha256'] != manifest_digest(expected):
        return 'manifest_sha256 is not the digest of the entries'
    keys, sizes = set(), {}
    for entry in expected:
        key = (entry['root'], entry['key'])
        if blank(entry['root']) or blank(entry['key']) or blank(entry['family']) or key in keys:
            return f'entry {"/".join(key)} is blank or repeated'
        keys.add(key)
        sizes[entry['family']] = sizes.get(entry['family'], 0) + 1
    names = set()
    for family in families:
        name, least = family['family'], family['min_present']
        if blank(name) or name in names or name not in sizes:
            return f'family "{name}" is blank, repeated or without entries'
        names.add(name)
        if least != 0 if family['expectation'] == 'inactive' else not 1 <= least <= sizes[name]:
            return f'family "{name}": min_present {least}'
    if missing := set(sizes) - names:
        return f'families without a contract: {sorted(missing)}'
    return None


def health(trace):
    return Health(trace).issues


def check(source, each=None):
    """Violations of the rules by a file that a producer wrote, as strings; empty when there is none."""
    try:
        trace = read(source, each)
    except Rejected as rejected:
        return [f'rejected: {rejected}']
    violations = [f'{code}: {text}' if text else code for severity, code, text in health(trace) if severity == ERROR]
    if trace.meta['schema'] != 'candle-graph/trace/10':
        violations.append(f'P1: schema {trace.meta["schema"]}')
    if not trace.ends_with_newline:
        violations.append('P1: the last line has no line end')
    for line, names in trace.repeated_extras:
        violations.append(f'line {line}: extra fields given twice: {", ".join(names)}')
    return violations


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    bad = 0
    for path in paths:
        try:
            found = check(path)
        except OSError as error:
            found = [f'cannot be read: {error.strerror}']
        for violation in found:
            print(f'{path}: {violation}')
        bad += bool(found)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
