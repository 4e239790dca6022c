-- Bytes allocated by span name. Reads the tables memory and span.
SELECT span.name AS span, memory.device AS device, count(*) AS allocations, sum(memory.bytes) AS bytes
FROM memory LEFT JOIN span ON span.id = memory.span_id
WHERE memory.action = 'alloc'
GROUP BY span.name, memory.device
ORDER BY bytes DESC, span.name, memory.device;
