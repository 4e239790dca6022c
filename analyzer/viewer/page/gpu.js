// GPU: what the reports of Nsight Systems say, on their own clocks.
import { answer } from './data.js';
import { el } from './dom.js';
import { queryView } from './documents.js';

const KINDS = [['gpu-status', 'Reports'], ['gpu-kernels', 'Kernels'], ['gpu-phases', 'Phases'], ['gpu-correlation', 'Correlation'], ['gpu-attribution-gaps', 'What is not attributed']];

export async function gpuTab() {
    const views = await Promise.all(KINDS.map(async ([kind, heading]) => queryView(kind, heading, await answer(kind))));
    return el('div', {}, views);
}
