/** Every page of the console. */
import type { PageRoute } from '../frame/page-route.ts';
import { nowPages } from './now.ts';

export const PAGES: readonly PageRoute[] = [...nowPages];
