-- Calls with the device work that they issued. Reads the tables op and device_interval.
SELECT op.op_name AS call, count(*) AS intervals, sum(device_interval.duration_ns) AS device_ns
FROM op JOIN device_interval ON device_interval.correlation = op.correlation
GROUP BY op.op_name
ORDER BY device_ns DESC, op.op_name;
