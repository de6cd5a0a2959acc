export { explainFacts } from '../../postgres/reports/explain.ts';
