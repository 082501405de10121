/* What limits the job, as /api/why tells it, in the few words that the page needs. */
import type { Json } from './model';

export interface Culprit { operator: string; cls: string; sentence: string; evidence: string[]; change: string; next: string }
export function culprit(_why: Json): Culprit | null { return null; }
export function limit(_why: Json) { return null; }
