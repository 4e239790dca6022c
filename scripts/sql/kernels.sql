-- Device time by kernel: calls, sum, longest. Reads the table device_interval of `cg-analyze export --to csv`.
SELECT name, device, count(*) AS calls, sum(duration_ns) AS total_ns, max(duration_ns) AS maximum_ns
FROM device_interval
WHERE activity = 'kernel'
GROUP BY name, device
ORDER BY total_ns DESC, name, device;
