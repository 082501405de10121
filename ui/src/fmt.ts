/* Figures as text. Times of day and event times are UTC. */
const GROUPS = new Intl.NumberFormat('en-US');
export const count = (n: number | null | undefined) => n === null || n === undefined ? '\u2013' : GROUPS.format(Math.round(n));
export function short(n: number | null | undefined): string {
  if (n === null || n === undefined) return '\u2013';
  const a = Math.abs(n), [d, u] = a >= 1e9 ? [1e9, 'G'] : a >= 1e6 ? [1e6, 'M'] : a >= 1e4 ? [1e3, 'k'] : [1, ''];
  const v = n / d;
  return (u && Math.abs(v) < 100 ? v.toFixed(1) : a < 10 && a % 1 ? v.toFixed(1) : GROUPS.format(Math.round(v))) + u;
}
export const rate = (n: number | null | undefined) => n === null || n === undefined ? '\u2013' : short(n) + '/s';
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return '\u2013';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let v = Math.abs(n), i = 0;
  while (v >= 1024 && i < 4) v /= 1024, i++;
  return (n < 0 ? '\u2212' : '') + (i && v < 100 ? v.toFixed(1) : Math.round(v)) + ' ' + units[i];
}
export function span(us: number | null | undefined): string {
  if (us === null || us === undefined) return '\u2013';
  const a = Math.abs(us), sign = us < 0 ? '\u2212' : '';
  if (a < 1000) return `${sign}${Math.round(a)} \u00b5s`;
  if (a < 1e6) return `${sign}${a < 1e5 ? (a / 1e3).toFixed(1) : Math.round(a / 1e3)} ms`;
  if (a < 60e6) return `${sign}${(a / 1e6).toFixed(1)} s`;
  const two = (big: number, unit: string, small: number, of: number, name: string) => { const rest = Math.floor(a / small) % of; return `${sign}${Math.floor(a / big)} ${unit}${rest ? ` ${rest} ${name}` : ''}`; };
  if (a < 3600e6) return two(60e6, 'min', 1e6, 60, 's');
  return a < 86400e6 ? two(3600e6, 'h', 60e6, 60, 'min') : two(86400e6, 'd', 3600e6, 24, 'h');
}
export function when(us: number | null | undefined): string {
  if (us === null || us === undefined) return '\u2013';
  const d = new Date(us / 1000);
  return isNaN(d.getTime()) ? '\u2013' : d.toISOString().replace('T', ' ').slice(0, 19);
}
export const clock = (ms: number) => new Date(ms).toISOString().slice(11, 19);
export const percent = (x: number | null | undefined) => x === null || x === undefined ? '\u2013' : (x * 100 >= 10 || x === 0 ? Math.round(x * 100) : (x * 100).toFixed(1)) + ' %';
export const plural = (n: number, one: string, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;
export const cut = (s: string, n: number) => s.length > n ? s.slice(0, n - 1) + '\u2026' : s;
